import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  compareMail,
  compareVadd,
  compareVaddMutated,
  createTally,
  slowAddComparer,
  sumOn,
  sumWideOn,
  type ChunkComparer,
  type OutputTally,
} from "./output-tally.ts";
import {
  referenceMail,
  referenceSlowAdd,
  referenceVadd,
  referenceVaddMutated,
} from "./reference.ts";
import { checksumF64, compareF32, compareU32, type Comparison } from "./verify.ts";

/** Any bits of a float, with the special ones often. */
const anyFloat = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, NaN, Infinity, -Infinity, 2 ** -149, -(2 ** -149), 2 ** 24, 1e38),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }).map((word) => {
    const view = new DataView(new ArrayBuffer(4));
    view.setUint32(0, word);
    return view.getFloat32(0);
  }),
);

const triples = fc.array(fc.tuple(anyFloat, anyFloat, anyFloat), { maxLength: 40 });

/** Runs a comparer over the arrays in chunks of `step` elements. */
function inChunks<T extends Float32Array | Uint32Array>(
  compare: ChunkComparer<T>,
  actual: T,
  inputs: readonly T[],
  step: number,
): OutputTally {
  const tally = createTally();
  const part = (values: T, first: number): T => values.subarray(first, first + step) as T;
  for (let first = 0; first < actual.length; first += step) {
    const chunk = { first, actual: part(actual, first), inputs: inputs.map((v) => part(v, first)) };
    compare(tally, chunk);
  }
  return tally;
}

function agree(tally: OutputTally, expected: Comparison, sum: number): void {
  const { bad, checked, firstBad } = tally;
  assert.deepEqual({ bad, checked, firstBad }, expected);
  assert.ok(Object.is(tally.sum, sum) || (tally.sum === 0 && sum === 0), `${tally.sum}, ${sum}`);
}

const step = fc.integer({ min: 1, max: 50 });

test("property: one pass over vadd finds what reference, comparison and sum find", () => {
  fc.assert(
    fc.property(triples, step, (rows, chunk) => {
      const [a, b] = [0, 1].map((column) => Float32Array.from(rows, (row) => row[column] ?? 0));
      assert.ok(a !== undefined && b !== undefined);
      const right = referenceVadd(a, b);
      // Every third element is anything at all, the others are right.
      const actual = right.map((value, index) =>
        index % 3 === 0 ? (rows[index]?.[2] ?? 0) : value,
      );
      for (const output of [right, actual]) {
        const sum = checksumF64(output);
        const tally = inChunks(compareVadd, output, [a, b], chunk);
        agree(tally, compareF32(right, output), sum);
        const mutated = inChunks(compareVaddMutated, output, [a, b], chunk);
        agree(mutated, compareF32(referenceVaddMutated(a, b), output), sum);
      }
    }),
  );
});

test("property: one pass over slow_add, however often values come again", () => {
  const iterations = fc.oneof(fc.nat(3), fc.nat(2 ** 24 - 1));
  fc.assert(
    fc.property(fc.array(anyFloat, { maxLength: 30 }), iterations, step, (values, count, chunk) => {
      const input = Float32Array.from([...values, ...values]);
      const right = referenceSlowAdd(input, count);
      const compare = slowAddComparer(count);
      const sum = checksumF64(right);
      agree(inChunks(compare, right, [input], chunk), compareF32(right, right), sum);
      const wrong = right.map((value, index) => (index % 2 === 0 ? value + 1 : value));
      agree(inChunks(compare, wrong, [input], chunk), compareF32(right, wrong), checksumF64(wrong));
    }),
  );
});

test("property: one pass over mail", () => {
  const word = fc.integer({ min: 0, max: 2 ** 32 - 1 });
  fc.assert(
    fc.property(fc.array(fc.tuple(word, fc.boolean()), { maxLength: 40 }), step, (rows, chunk) => {
      const input = Uint32Array.from(rows, ([value]) => value);
      const actual = input.map((value, index) => (rows[index]?.[1] === true ? value ^ 1 : value));
      const sum = actual.reduce((total, value) => total + value, 0);
      const tally = inChunks(compareMail, actual, [input], chunk);
      agree(tally, compareU32(referenceMail(input), actual), sum);
    }),
  );
});

test("a sum begins with what came before, and wide integers are rounded once each", () => {
  assert.equal(sumOn(2 ** 53, Float32Array.of(1, 1)), 2 ** 53);
  assert.equal(sumOn(1, Float64Array.of(2 ** 53 - 1, 0.5)), 2 ** 53);
  fc.assert(
    fc.property(fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })), (values) => {
      const bits = new Uint32Array(BigUint64Array.from(values).buffer);
      const unsigned = values.reduce((total, value) => total + Number(value), 0);
      assert.equal(sumWideOn(0, bits, bits), unsigned);
      const signed = values.reduce((total, value) => total + Number(BigInt.asIntN(64, value)), 0);
      assert.equal(sumWideOn(0, bits, new Int32Array(bits.buffer)), signed);
    }),
  );
});
