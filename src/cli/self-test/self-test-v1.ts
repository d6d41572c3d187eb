/** The self-test's checks of the v1 mailbox, over a sparse file that stands for a guest's RAM. */
import { referenceVadd, selfTestA, selfTestB } from "../../gpu/mod.ts";
import { CUBB_JOB, OPERATION, STATUS, statusName, type CubdDone } from "../../records/mod.ts";
import { judge, NO_DONE, type Finding } from "../trial/check-report.ts";
import { HIGH_WINDOW, LOW_BYTES, type GuestMemory } from "./guest-memory.ts";
import { bytesOf } from "../trial/job-record.ts";
import type { Producer } from "../trial/producer.ts";
import { isEqualF32, mailWords, VADD_CHECKSUM } from "./self-test-v2.ts";
import { durationText } from "../units.ts";

/** What the v1 checks work with. */
export type StageV1 = {
  readonly memory: GuestMemory;
  readonly producer: Producer<CubdDone>;
  /** The next sequence number, from 1. */
  readonly nextSeq: () => bigint;
};

export type CheckV1 = {
  readonly name: string;
  readonly run: (stage: StageV1) => Promise<Finding>;
};

const MIB = 2 ** 20;
const VADD_ELEMENTS = 2 ** 20;

/** Guest-physical addresses of a job's operands and result. */
type Addresses = { readonly a: number; readonly b: number; readonly c: number };

/** Not aligned to a page, so that no copy can be a remapped page. */
const LOW: Addresses = { a: 16 * MIB + 4, b: 32 * MIB + 8, c: 48 * MIB + 12 };

/** The second operand lies across a whole GiB of the file, where a map of it may have a seam. */
const HIGH: Addresses = {
  a: HIGH_WINDOW + 16 * MIB + 4,
  b: HIGH_WINDOW + 1024 * MIB - 2 * MIB,
  c: HIGH_WINDOW + 1536 * MIB + 12,
};

/** Bytes before and behind the result that must stay as they were. */
const MARGIN_BYTES = 64;
const MARGIN = new Uint8Array(MARGIN_BYTES).fill(0xa5);

async function runJob(
  { producer, nextSeq }: StageV1,
  op: number,
  n: number,
  { a, b, c }: Addresses,
): Promise<CubdDone | null> {
  const seq = nextSeq();
  const addresses = { gpaA: BigInt(a), gpaB: BigInt(b), gpaC: BigInt(c) };
  producer.post(CUBB_JOB.encode({ seq, op, n, ...addresses }));
  return producer.waitForDone(seq);
}

/** Marks what lies around the result; the returned function tells whether it is untouched. */
function markMargins(memory: GuestMemory, address: number, bytes: number): () => boolean {
  const places = [address - MARGIN_BYTES, address + bytes];
  for (const place of places) memory.write(place, MARGIN);
  return () =>
    places.every((place) => Buffer.from(memory.read(place, MARGIN_BYTES)).equals(MARGIN));
}

async function checkMail(stage: StageV1): Promise<Finding> {
  const { memory } = stage;
  const words = mailWords();
  memory.write(LOW.a, bytesOf(words));
  const isUntouched = markMargins(memory, LOW.c, words.byteLength);
  const done = await runJob(stage, OPERATION.mail, words.length, LOW);
  if (done === null) return NO_DONE;
  return judge(`${words.length} words; kernel ${durationText(Number(done.kernelNs))}`, {
    ...okClaims(done),
    "every byte arrived": Buffer.from(memory.read(LOW.c, words.byteLength)).equals(bytesOf(words)),
    "nothing around it was written": isUntouched(),
  });
}

async function checkVadd(stage: StageV1, addresses: Addresses): Promise<Finding> {
  const { memory } = stage;
  const [a, b] = [selfTestA(VADD_ELEMENTS), selfTestB(VADD_ELEMENTS)];
  memory.write(addresses.a, bytesOf(a));
  memory.write(addresses.b, bytesOf(b));
  const isUntouched = markMargins(memory, addresses.c, a.byteLength);
  const done = await runJob(stage, OPERATION.vadd, VADD_ELEMENTS, addresses);
  if (done === null) return NO_DONE;
  const checksum = done.checksum.toFixed(6);
  const place = `c at 0x${addresses.c.toString(16)}`;
  const times = `kernel ${durationText(Number(done.kernelNs))}`;
  return judge(`${VADD_ELEMENTS} sums, checksum ${checksum}, ${place}; ${times}`, {
    ...okClaims(done),
    "the checksum is the known one": done.checksum === VADD_CHECKSUM,
    "c is bit for bit a + b": isEqualF32(
      referenceVadd(a, b),
      memory.read(addresses.c, a.byteLength),
    ),
    "nothing around it was written": isUntouched(),
  });
}

const okClaims = (done: CubdDone): Readonly<Record<string, boolean>> => ({
  [`the status is ok, not ${statusName(done.status)}`]: done.status === STATUS.ok,
  "nothing is bad": done.bad === 0,
});

/** Addresses that no job may have, each with why. */
const WRONG: readonly (readonly [
  name: string,
  expected: keyof typeof STATUS,
  addresses: Partial<Addresses>,
])[] = [
  ["a in the hole", "out_of_bounds", { a: LOW_BYTES + MIB }],
  ["b across the hole's edge", "out_of_bounds", { b: LOW_BYTES - 512 }],
  ["c past the end", "out_of_bounds", { c: HIGH_WINDOW + LOW_BYTES - 512 }],
  ["c over a", "out_of_bounds", { c: LOW.a + 512 }],
  ["a misaligned", "misaligned", { a: LOW.a + 2 }],
];

const WRONG_ELEMENTS = 256;

async function checkBounds(stage: StageV1): Promise<Finding> {
  const [seen, claims]: [string[], Record<string, boolean>] = [[], {}];
  for (const [name, expected, addresses] of WRONG) {
    const done = await runJob(stage, OPERATION.vadd, WRONG_ELEMENTS, { ...LOW, ...addresses });
    if (done === null) return NO_DONE;
    seen.push(statusName(done.status));
    claims[`${name} is ${expected}`] = done.status === STATUS[expected];
  }
  return judge(seen.join(" "), claims);
}

export const CHECKS_V1: readonly CheckV1[] = [
  { name: "v1 mail", run: checkMail },
  { name: "v1 vadd low", run: (stage) => checkVadd(stage, LOW) },
  { name: "v1 vadd high", run: (stage) => checkVadd(stage, HIGH) },
  { name: "v1 bounds", run: checkBounds },
];
