import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";

import { decideSequence, type SequenceDecision } from "./sequence.ts";

const U64_MAX = 2n ** 64n - 1n;

type Case = readonly [
  last: bigint | null,
  seq: bigint,
  isReset: boolean,
  expected: SequenceDecision,
];

const CASES: readonly Case[] = [
  [null, 1n, false, "run"],
  [null, 1n, true, "run"],
  [null, U64_MAX, false, "run"],
  [null, 0n, false, "unnumbered"],
  [7n, 0n, true, "unnumbered"],
  [7n, 8n, false, "run"],
  [7n, 8n, true, "run"],
  [7n, U64_MAX, false, "run"],
  [7n, 7n, false, "repeat"],
  [7n, 7n, true, "repeat"],
  [7n, 6n, false, "stale"],
  [7n, 6n, true, "run"],
  [U64_MAX, U64_MAX, false, "repeat"],
  [U64_MAX, 1n, false, "stale"],
  [U64_MAX, 1n, true, "run"],
];

for (const [last, seq, isReset, expected] of CASES) {
  const posted = `seq ${String(seq)}${isReset ? " with SEQ_RESET" : ""}`;
  test(`after ${String(last)}, ${posted} is ${expected}`, () => {
    assert.equal(decideSequence(last, { seq, isReset }), expected);
  });
}

const posts = fc.array(fc.record({ seq: fc.bigInt(0n, 6n), isReset: fc.boolean() }));

test("property: nothing is run twice without a reset or a higher number between", () => {
  fc.assert(
    fc.property(posts, (posted) => {
      let last: bigint | null = null;
      for (const { seq, isReset } of posted) {
        const decision = decideSequence(last, { seq, isReset });
        if (decision !== "run") continue;
        assert.ok(seq > 0n && seq !== last);
        assert.ok(isReset || last === null || seq > last);
        last = seq;
        // The same record, posted again at once, with and without the flag.
        assert.equal(decideSequence(last, { seq, isReset: true }), "repeat");
        assert.equal(decideSequence(last, { seq, isReset: false }), "repeat");
      }
    }),
  );
});

test("property: without resets, what is run only rises, and each higher number is run", () => {
  fc.assert(
    fc.property(fc.array(fc.bigInt(1n, 50n)), (numbers) => {
      let last: bigint | null = null;
      const ran: bigint[] = [];
      for (const seq of numbers) {
        if (decideSequence(last, { seq, isReset: false }) !== "run") continue;
        ran.push(seq);
        last = seq;
      }
      const rising: bigint[] = [];
      for (const seq of numbers) if (seq > (rising.at(-1) ?? 0n)) rising.push(seq);
      assert.deepEqual(ran, rising);
    }),
  );
});
