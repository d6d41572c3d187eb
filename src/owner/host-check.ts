/**
 * The proof of a job's outputs, made in the die host while they are at hand: compared with a CPU
 * reference computed from the job's own inputs, and summed up.
 */
import { err, ok, type EventClock, type Result } from "../base/mod.ts";
import {
  catalogueKernel,
  compareMail,
  compareVadd,
  compareVaddMutated,
  createTally,
  SAMPLE_PAGE_ELEMENTS,
  samplePages,
  slowAddComparer,
  type CatalogueKernel,
  type OutputTally,
} from "../gpu/mod.ts";
import { firstElementText, numberText, sumElements } from "./element-view.ts";
import type { BoundArgument, BoundBuffer } from "./host-argument.ts";
import type { Carrier } from "./host-bytes.ts";
import { outputReader, sourceReader, type ByteReader } from "./host-reader.ts";
import type { Job, JobCause, JobCheck, JobProof } from "./job.ts";
import { SCALAR_BYTES } from "./pattern-source.ts";

/** Makes the proof. Preconditions: the kernel has ended, and its outputs are where they go. */
export type Check = () => Promise<JobProof>;

/** Elements that are looked at before the event loop has a turn: some milliseconds. */
const TURN_ELEMENTS = 2 ** 20;

/** Of `slow_add`, each of whose elements may take 50 steps to work out. */
const SLOW_TURN_ELEMENTS = 2 ** 16;

/** Compares the elements of one stretch; gives how many turns' worth of work that was. */
type Comparison = {
  readonly row: CatalogueKernel;
  /** Arrays that are read: the output first, then the inputs, as the kernel takes them. */
  readonly readers: readonly ByteReader[];
  readonly compare: (tally: OutputTally, first: number, views: readonly Uint8Array[]) => void;
  readonly turnElements: number;
  readonly clock: EventClock;
};

type Sum = JobCheck["sums"][number] & {
  readonly memory: BoundBuffer;
  readonly reader: ByteReader;
  readonly clock: EventClock;
};

const refuse = (message: string): Result<never, JobCause> =>
  err({ name: "check_argument", code: 0, call: "planCheck", message });

/** Every reference is of elements of this size. */
const REFERENCE_BYTES = 4;

/**
 * Plans a job's check, before anything runs: a check that cannot be made is refused. Null where the
 * job asks for none.
 */
export function planCheck(
  { check, arguments: given }: Job,
  bound: readonly BoundArgument[],
  carrier: Carrier,
): Result<Check | null, JobCause> {
  if (check === undefined) return ok(null);
  const sums: Sum[] = [];
  for (const sum of check.sums) {
    const memory = bound[sum.argument]?.memory ?? null;
    if (memory === null) return refuse(`argument ${sum.argument} has no buffer to sum up`);
    const reader = outputReader(memory, carrier, SCALAR_BYTES[sum.type]);
    sums.push({ ...sum, memory, reader, clock: carrier.clock });
  }
  if (check.reference === null || check.extent === "none") {
    return ok(() => prove(check, null, sums));
  }
  if (overwritesInput(given)) return refuse("the output lies over an input in one memory file");
  const comparison = planComparison(check, bound, carrier);
  if (!comparison.ok) return comparison;
  return ok(() => prove(check, comparison.value, sums));
}

/** Whether argument 0 goes to where another came from: then no reference can be worked out. */
function overwritesInput([output, ...inputs]: Job["arguments"]): boolean {
  if (output?.kind !== "buffer" || output.target?.kind !== "memory") return false;
  const { path, offset } = output.target;
  const end = offset + output.bytes;
  return inputs.some((input) => {
    if (input.kind !== "buffer" || input.source.kind !== "memory") return false;
    const { source, bytes } = input;
    return source.path === path && source.offset < end && offset < source.offset + bytes;
  });
}

function planComparison(
  { reference, elements, iterations }: JobCheck,
  bound: readonly BoundArgument[],
  carrier: Carrier,
): Result<Comparison, JobCause> {
  const comparer = comparerOf(reference, iterations);
  if (reference === null || comparer === null) return refuse(`${reference} has no reference here`);
  const row = catalogueKernel(reference);
  const readers: ByteReader[] = [];
  for (const [index, { kind, name }] of row.parameters.entries()) {
    if (kind === "number") continue;
    const memory = bound[index]?.memory ?? null;
    if (memory === null || memory.bytes < elements * REFERENCE_BYTES) {
      return refuse(`argument ${index} holds no ${elements} elements of ${reference}'s ${name}`);
    }
    if (kind === "output") readers.push(outputReader(memory, carrier, REFERENCE_BYTES));
    else if (memory.source !== null) readers.push(sourceReader(memory.source, REFERENCE_BYTES));
    else return refuse(`argument ${index} is filled by no source, so nothing is known of it`);
  }
  const turnElements = reference === "slow_add" ? SLOW_TURN_ELEMENTS : TURN_ELEMENTS;
  return ok({ row, readers, compare: comparer, turnElements, clock: carrier.clock });
}

/** The comparison with a kernel's reference, over bytes; null where the kernel has none. */
function comparerOf(
  reference: JobCheck["reference"],
  iterations: number,
): Comparison["compare"] | null {
  switch (reference) {
    case "mail":
      return overViews(compareMail, (view) => new Uint32Array(...partsOf(view)));
    case "vadd":
      return overViews(compareVadd, (view) => new Float32Array(...partsOf(view)));
    case "vadd_mutated":
      return overViews(compareVaddMutated, (view) => new Float32Array(...partsOf(view)));
    case "slow_add":
      return overViews(slowAddComparer(iterations), (view) => new Float32Array(...partsOf(view)));
    case "probe":
    case "sum_f64":
    case null:
      return null;
  }
}

type Comparer<T> = (
  tally: OutputTally,
  chunk: { readonly first: number; readonly actual: T; readonly inputs: readonly T[] },
) => void;

const partsOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  [buffer, byteOffset, byteLength / REFERENCE_BYTES] as const;

function overViews<T>(
  comparer: Comparer<T>,
  viewOf: (bytes: Uint8Array) => T,
): Comparison["compare"] {
  return (tally, first, views) => {
    const [actual, ...inputs] = views.map(viewOf);
    if (actual !== undefined) comparer(tally, { first, actual, inputs });
  };
}

async function prove(
  check: JobCheck,
  comparison: Comparison | null,
  sums: readonly Sum[],
): Promise<JobProof> {
  const tally = createTally();
  let left = comparison;
  for (const sum of sums) {
    if (left !== null && isOnePass(check, left, sum)) {
      await compareStretch(left, tally, 0, check.elements);
      left = null;
    } else {
      await sumUp(sum, tally);
    }
  }
  const checksum = numberText(tally.sum);
  if (left !== null) await compareExtent(check, left, tally);
  const { checked, bad, firstBad } = tally;
  return {
    checked,
    bad,
    checksum,
    firstSample: await firstSampleOf(sums[0]),
    firstBad: firstBad && {
      index: firstBad.index,
      expected: numberText(firstBad.expected),
      actual: numberText(firstBad.actual),
    },
  };
}

/** Whether comparing every element of the output also sums up what the sum asks for. */
function isOnePass(check: JobCheck, { row }: Comparison, sum: Sum): boolean {
  const elements = Math.floor(sum.memory.bytes / REFERENCE_BYTES);
  return (
    check.extent === "full" &&
    sum.argument === 0 &&
    sum.type === row.parameters[0]?.type &&
    elements === check.elements
  );
}

async function compareExtent(
  { extent, elements, sampleSeed }: JobCheck,
  comparison: Comparison,
  tally: OutputTally,
): Promise<void> {
  if (extent === "full") return compareStretch(comparison, tally, 0, elements);
  const pages = Math.ceil(elements / SAMPLE_PAGE_ELEMENTS);
  let sinceTurn = 0;
  for (const page of samplePages(pages, BigInt(sampleSeed))) {
    const first = page * SAMPLE_PAGE_ELEMENTS;
    const end = Math.min(first + SAMPLE_PAGE_ELEMENTS, elements);
    await compareStretch(comparison, tally, first, end);
    sinceTurn += SAMPLE_PAGE_ELEMENTS;
    if (sinceTurn < comparison.turnElements) continue;
    sinceTurn = 0;
    await comparison.clock.turn();
  }
}

/** Compares the elements from `first` to before `end`, with turns of the event loop in between. */
async function compareStretch(
  { readers, compare, turnElements, clock }: Comparison,
  tally: OutputTally,
  first: number,
  end: number,
): Promise<void> {
  for (let at = first; at < end; at += turnElements) {
    if (at > first) await clock.turn();
    const bytes = (Math.min(at + turnElements, end) - at) * REFERENCE_BYTES;
    const views: Uint8Array[] = [];
    for (const read of readers) views.push(await read(at * REFERENCE_BYTES, bytes));
    compare(tally, at, views);
  }
}

async function sumUp({ type, memory, reader, clock }: Sum, tally: OutputTally): Promise<void> {
  const elementBytes = SCALAR_BYTES[type];
  const wholeBytes = memory.bytes - (memory.bytes % elementBytes);
  const turnBytes = TURN_ELEMENTS * elementBytes;
  for (let at = 0; at < wholeBytes; at += turnBytes) {
    if (at > 0) await clock.turn();
    const view = await reader(at, Math.min(turnBytes, wholeBytes - at));
    tally.sum = sumElements(tally.sum, type, view);
  }
}

async function firstSampleOf(sum: Sum | undefined): Promise<string | null> {
  if (sum === undefined) return null;
  const elementBytes = SCALAR_BYTES[sum.type];
  if (sum.memory.bytes < elementBytes) return null;
  return firstElementText(sum.type, await sum.reader(0, elementBytes));
}
