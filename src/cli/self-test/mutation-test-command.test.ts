import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { STATUS, type Cbd2Done } from "../../records/mod.ts";
import { judgeMutation, type Outcome } from "./mutation-test-command.ts";

const N = 2 ** 20;

const done: Cbd2Done = {
  status: STATUS.ok,
  seq: 2n,
  op: 2,
  cudaError: 0,
  n: BigInt(N),
  outBytes: BigInt(4 * N),
  kernelNs: 1n,
  wallNs: 2n,
  checksum: 392344090.5,
  bad: 0n,
  checked: BigInt(N),
  device: "a device",
  flags: 2,
};
const RIGHT: Outcome = { done, first: 0 };
const MUTATED: Outcome = {
  done: { ...done, status: STATUS.verify_failed, checksum: done.checksum + N, bad: BigInt(N) },
  first: 1,
};

const mutated = (fields: Partial<Cbd2Done>): Outcome => ({
  ...MUTATED,
  done: { ...MUTATED.done, ...fields },
});

suite("the mutation test", () => {
  test("passes where op 3 was seen to be wrong in each element", () => {
    const { pass, seen } = judgeMutation(RIGHT, MUTATED);
    assert.equal(pass, true);
    assert.ok(seen.includes("392344090.500000 and 393392666.500000, apart by 1048576.000000"));
  });

  const failing: readonly (readonly [string, Outcome | null, Outcome | null])[] = [
    ["op 3 gives what op 2 gives", RIGHT, RIGHT],
    ["nothing comes of op 3", RIGHT, null],
    ["nothing comes of op 2", null, MUTATED],
    ["op 2 is wrong as well", MUTATED, MUTATED],
    ["op 2 was not compared", { ...RIGHT, done: { ...done, checked: 0n } }, MUTATED],
    ["one element escaped", RIGHT, mutated({ bad: BigInt(N - 1) })],
    ["it is called ok", RIGHT, mutated({ status: STATUS.ok })],
    ["the checksum is op 2's", RIGHT, mutated({ checksum: done.checksum })],
    ["c[0] is op 2's", RIGHT, { ...MUTATED, first: 0 }],
  ];
  for (const [name, right, wrong] of failing) {
    test(`fails where ${name}`, () => {
      assert.equal(judgeMutation(right, wrong).pass, false);
    });
  }
});
