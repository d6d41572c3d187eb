// The examples of docs/PROTOCOL.md say what its text says of them. That the launch runs as it says
// is tested with the daemon, in examples.test.ts.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { suite, test } from "node:test";
import {
  CBD2_DONE,
  CUBB2_JOB,
  CUBB_JOB,
  CUBD_DONE,
  decodeLaunchDescriptor,
  encodeLaunchDescriptor,
  OPERATION,
  STATUS,
  type Cbd2Done,
  type Cubb2Job,
} from "../src/records/mod.ts";
import { hexExample, ptxExample } from "./protocol-examples.ts";

const VADD: Cubb2Job = {
  flags: 0,
  seq: 42n,
  op: OPERATION.vadd,
  timeoutMs: 0,
  n: 1_048_576n,
  inBytes: 8_388_608n,
  outBytes: 4_194_304n,
  grid: [0, 0, 0],
  block: [0, 0, 0],
  sharedBytes: 0,
  descBytes: 0,
  guestId: 0n,
  iters: 0,
};

const VADD_DONE: Cbd2Done = {
  status: STATUS.ok,
  seq: 42n,
  op: OPERATION.vadd,
  cudaError: 0,
  n: 1_048_576n,
  outBytes: 4_194_304n,
  kernelNs: 41_919n,
  wallNs: 2_600_000n,
  checksum: 392_344_090.5,
  bad: 0n,
  checked: 1_048_576n,
  device: "NVIDIA GeForce RTX 2080 Super w",
  flags: 2,
};

const REFUSED: Cbd2Done = {
  ...VADD_DONE,
  status: STATUS.unknown_op,
  seq: 43n,
  op: 5,
  outBytes: 0n,
  kernelNs: 0n,
  wallNs: 0n,
  checksum: 0,
  checked: 0n,
  device: "",
  flags: 0,
};

const LAUNCH: Cubb2Job = {
  ...VADD,
  seq: 44n,
  op: OPERATION.launch,
  timeoutMs: 1000,
  n: 4n,
  inBytes: 216n,
  outBytes: 16n,
  grid: [1, 1, 1],
  block: [32, 1, 1],
  descBytes: 200,
};

const V1_JOB = {
  seq: 1000n,
  op: OPERATION.vadd,
  n: 257,
  gpaA: 0x1000_0000n,
  gpaB: 0x1_0000_0000n,
  gpaC: 0x1_4000_0000n,
};

/** `0.5 * (i mod 1000) + 0.25 * (i mod 997)`, summed for i from 0 to 256. */
const V1_DONE = { seq: 1000n, status: STATUS.ok, bad: 0, kernelNs: 41_567n, checksum: 24_672 };

suite("the records in the document", () => {
  const cases = [
    ["CUBB2_JOB vadd", CUBB2_JOB, VADD],
    ["CBD2_DONE vadd", CBD2_DONE, VADD_DONE],
    ["CBD2_DONE refused", CBD2_DONE, REFUSED],
    ["CUBB2_JOB launch", CUBB2_JOB, LAUNCH],
    ["CUBB_JOB vadd", CUBB_JOB, V1_JOB],
    ["CUBD_DONE vadd", CUBD_DONE, V1_DONE],
  ] as const;
  for (const [title, record, value] of cases) {
    test(title, () => {
      const bytes = hexExample(title);
      assert.equal(bytes.length, record.bytes);
      assert.deepEqual(record.decode(bytes), { ok: true, value });
    });
  }
});

test("the launch in the document: descriptor, operands and module belong together", () => {
  const bytes = hexExample("IN launch");
  assert.equal(bytes.length, Number(LAUNCH.inBytes));
  const descriptor = bytes.subarray(0, LAUNCH.descBytes);
  const extent = { inBytes: bytes.length, outBytes: Number(LAUNCH.outBytes) };
  const launch = {
    moduleSha256: createHash("sha256").update(ptxExample("scale")).digest("hex"),
    entry: "scale",
    arguments: [
      { kind: "out", type: "f32", outOffset: 0, bytes: 16 },
      { kind: "in", type: "f32", offset: 200, bytes: 16 },
      { kind: "scalar", type: "f32", value: 0x3fc0_0000n },
      { kind: "scalar", type: "u32", value: 4n },
    ],
  } as const;
  assert.deepEqual(decodeLaunchDescriptor(descriptor, extent), { ok: true, value: launch });
  assert.deepEqual(encodeLaunchDescriptor(launch), descriptor);
  const operands = new Float32Array(bytes.slice(LAUNCH.descBytes).buffer);
  const result = new Float32Array(hexExample("OUT launch").buffer);
  assert.deepEqual(
    result,
    operands.map((value) => 1.5 * value),
  );
});
