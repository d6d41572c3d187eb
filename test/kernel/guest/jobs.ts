/** The jobs that the tests launch, and what must come back. Emulation is slow: they are small. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { referenceVadd, selfTestA, selfTestB } from "../../../src/gpu/mod.ts";
import {
  encodeLaunchDescriptor,
  launchDescriptorBytes,
  OPERATION,
  STATUS,
  type LaunchArgument,
} from "../../../src/records/mod.ts";
import { MODULES, type GuestBridge } from "./guest-bridge.ts";
import { countDuring, type Answer, type JobRequest, type Stats } from "./mailbox-module.ts";

export const ELEMENTS = 1024;
const ARRAY_BYTES = 4 * ELEMENTS;

/** What the tests have in common: one daemon, which some of them replace. */
export type GuestContext = { bridge: GuestBridge };

/** A job record's request with the input that belongs to it. */
export type Job = { readonly request: JobRequest; readonly input: Uint8Array };

const bytesOf = (values: Float32Array | Uint32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

const floatsOf = (bytes: Uint8Array): Float32Array =>
  new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);

/** Words unlike their neighbours, so that any that is missing or moved is seen. */
export function mailJob(seed: number): Job {
  const words = Uint32Array.from({ length: ELEMENTS }, (_, index) =>
    Math.imul(index + 1 + seed * ELEMENTS, 0x9e3779b1),
  );
  const request = { op: OPERATION.mail, n: BigInt(ELEMENTS), outBytes: BigInt(ARRAY_BYTES) };
  return { request, input: bytesOf(words) };
}

export function vaddJob(op: number = OPERATION.vadd): Job {
  const input = Buffer.concat([bytesOf(selfTestA(ELEMENTS)), bytesOf(selfTestB(ELEMENTS))]);
  return { request: { op, n: BigInt(ELEMENTS), outBytes: BigInt(ARRAY_BYTES) }, input };
}

/** vadd of two arrays again, this time as a launch of a module's entry, chosen by its content. */
export function launchJob(): Job {
  const moduleSha256 = createHash("sha256")
    .update(readFileSync(join(MODULES, "base.ptx")))
    .digest("hex");
  const descBytes = launchDescriptorBytes(4, "vadd");
  const [a, b] = [descBytes, descBytes + ARRAY_BYTES];
  const slice = { type: "f32", bytes: ARRAY_BYTES } as const;
  const launchArguments: readonly LaunchArgument[] = [
    { kind: "out", ...slice, outOffset: 0 },
    { kind: "in", ...slice, offset: a },
    { kind: "in", ...slice, offset: b },
    { kind: "scalar", type: "u32", value: BigInt(ELEMENTS) },
  ];
  const descriptor = { moduleSha256, entry: "vadd", arguments: launchArguments };
  const shape = { grid: [ELEMENTS / 256, 1, 1], block: [256, 1, 1] } as const;
  const request = { ...vaddJob().request, op: OPERATION.launch, ...shape, descBytes };
  return { request, input: Buffer.concat([encodeLaunchDescriptor(descriptor), vaddJob().input]) };
}

export function checkMail(answer: Answer, job: Job): void {
  assert.equal(answer.done.status, STATUS.ok);
  assert.deepEqual(answer.out, Uint8Array.from(job.input));
}

/** Bit for bit: the kernel's counter says that `out` is whole, and this that it is right. */
export function checkVadd(answer: Answer): void {
  assert.equal(answer.done.status, STATUS.ok);
  const wanted = referenceVadd(selfTestA(ELEMENTS), selfTestB(ELEMENTS));
  assert.deepEqual(floatsOf(answer.out), wanted);
}

/** Elements of the answer that are not vadd's. */
export function countWrong(answer: Answer): number {
  const wanted = referenceVadd(selfTestA(ELEMENTS), selfTestB(ELEMENTS));
  return floatsOf(answer.out).filter((value, index) => value !== wanted[index]).length;
}

/** Runs an action and checks that out and done each came in one write(2), and were taken. */
export async function checkWritten(
  action: () => Promise<void>,
  wanted: Partial<Stats> = {},
): Promise<void> {
  const counted = await countDuring(action);
  const usual = { out_writes: 1, out_refused: 0, done_writes: 1, done_accepted: 1 };
  for (const [name, value] of Object.entries({ ...usual, ...wanted })) {
    assert.equal(counted[name as keyof Stats], value, name);
  }
}

/** Fulfils where a launch gets no done record within the mailbox's wait. */
export async function checkUnanswered(asked: Promise<Answer>): Promise<void> {
  await assert.rejects(asked, { code: "ETIMEDOUT" });
}
