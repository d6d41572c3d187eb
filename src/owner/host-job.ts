/** One job inside a die host: bytes in, launch, bytes out. */
import { err, ok, type Clock, type Result } from "../base/mod.ts";
import {
  GpuError,
  packParameters,
  waitUntilIdle,
  waitUntilReached,
  type GpuKernel,
} from "../gpu/mod.ts";
import {
  bindArguments,
  type BoundArgument,
  type BoundBuffer,
  type Holdings,
} from "./host-argument.ts";
import {
  download,
  downloadUnpinned,
  queueDownload,
  upload,
  uploadPieces,
  type Carrier,
} from "./host-bytes.ts";
import { planCheck } from "./host-check.ts";
import type { HostDie } from "./host-die.ts";
import { closeQuietly } from "./host-file.ts";
import { lossOf, refusalCause } from "./host-failure.ts";
import type { MemoryRange } from "./host-mapped.ts";
import { openPayload, type OpenPayload } from "./host-payload.ts";
import {
  timeoutCause,
  type Job,
  type JobCause,
  type JobMeasures,
  type JobProof,
  type JobResult,
} from "./job.ts";

const refused = (cause: JobCause): JobResult => ({ status: "refused", cause });

/**
 * Runs the job and says how it ended; never throws for what the job, the device or a file did
 * wrong. `onLaunched` is called once, when the kernel is on its way and has not been waited for.
 */
export async function runJob(
  die: HostDie,
  job: Job,
  clock: Clock,
  onLaunched: () => void,
): Promise<JobResult> {
  const startMs = clock.nowMs();
  let payload: OpenPayload | null = null;
  try {
    const found = findKernel(die, job);
    if (!found.ok) return refused(found.error);
    const { kernel, carrier } = found.value;
    die.mapped.sweep(memoryRangesOf(job));
    const opened = await openPayload(die, job.payload, clock);
    if (!opened.ok) return refused(opened.error);
    payload = opened.value;
    const run = { die, job, kernel, carrier, payload, onLaunched };
    const ran = await bindAndRun(run, () => Math.round((clock.nowMs() - startMs) * 1e6));
    if (!ran.ok) return ran.error;
    return { status: "ok", device: die.context.device.name, ...ran.value };
  } catch (error) {
    const { what, cause } = lossOf(error);
    return { status: what === "device" ? "device_error" : "io_error", cause };
  } finally {
    payload?.discard();
  }
}

type FoundKernel = { readonly kernel: GpuKernel; readonly carrier: Carrier };

/** The kernel that the job names, if it takes as many arguments as the job has. */
function findKernel(die: HostDie, job: Job): Result<FoundKernel, JobCause> {
  const module = die.module(job.module);
  if (!module.ok) return module;
  const kernel = module.value.kernel(job.entry);
  if (!kernel.ok) return err(refusalCause(kernel.error));
  const { parameters } = kernel.value;
  if (parameters.length !== job.arguments.length) {
    const message =
      `${job.entry} takes ${String(parameters.length)} arguments ` +
      `(${parameters.map(({ type }) => type).join(", ")}), not ${String(job.arguments.length)}`;
    return err({ name: "argument_count", code: 0, call: "packParameters", message });
  }
  const carrier = die.carrier();
  if (!carrier.ok) return carrier;
  return ok({ kernel: kernel.value, carrier: carrier.value });
}

/** What a run works on. */
type Run = {
  readonly die: HostDie;
  readonly job: Job;
  readonly kernel: GpuKernel;
  readonly carrier: Carrier;
  readonly payload: OpenPayload;
  readonly onLaunched: () => void;
};

type Ran = { readonly measures: JobMeasures; readonly proof: JobProof | null };

/** Binds the arguments, runs the kernel, and brings its outputs out whole and checked. */
async function bindAndRun(run: Run, elapsedNs: () => number): Promise<Result<Ran, JobResult>> {
  const { die, job, carrier, payload } = run;
  const holdings: Holdings = { die, payload, closers: [], buffers: [] };
  let isStillRunning = false;
  try {
    const bound = bindArguments(holdings, job.arguments);
    if (!bound.ok) return err(refused(bound.error));
    const check = planCheck(job, bound.value, carrier);
    if (!check.ok) return err(refused(check.error));
    const launched = await launch(run, bound.value);
    if (!launched.ok) {
      isStillRunning = launched.error.status === "timeout";
      return launched;
    }
    const memories = memoriesOf(bound.value);
    await bringOut(carrier, memories);
    const [wallNs, proof] = await bothOf(
      payload.commit().then(elapsedNs),
      check.value === null ? Promise.resolve(null) : check.value(),
    );
    // What a file system says only now is part of the job's outcome.
    for (const close of holdings.closers) close();
    const measures = { kernelNs: launched.value, wallNs, ...movedBytes(payload, memories) };
    return ok({ measures, proof });
  } finally {
    closeQuietly(holdings.closers);
    // CUDA's free waits for kernels under way, so for an endless one without end. This process is
    // about to be ended in any case, and takes the buffers with it.
    if (!isStillRunning) await letGo(holdings);
  }
}

/** Both values once both are there; where one fails, the other has ended all the same. */
async function bothOf<A, B>(first: Promise<A>, second: Promise<B>): Promise<readonly [A, B]> {
  await Promise.allSettled([first, second]);
  return [await first, await second];
}

/**
 * Gives back what only this job needed, once nothing is on its way any more: a job that failed
 * halfway may have queued copies from memory that the next one will write to.
 */
async function letGo({ die, buffers }: Holdings): Promise<void> {
  try {
    await waitUntilIdle(die.stream, { clock: die.clock });
    for (const buffer of buffers) die.giveBack(buffer);
    die.inputArena.trim();
    die.outputArena.trim();
  } catch (error) {
    // A lost context has taken its memory with it, and says so by throwing once more.
    if (!(error instanceof GpuError)) throw error;
  }
}

/** What the job reads and writes of files that are memory. */
const memoryRangesOf = ({ arguments: given }: Job): readonly MemoryRange[] =>
  given.flatMap((argument) => {
    if (argument.kind !== "buffer") return [];
    const { source, target, bytes } = argument;
    return [source, target].flatMap((end) =>
      end?.kind === "memory" ? [{ path: end.path, offset: end.offset, bytes }] : [],
    );
  });

const memoriesOf = (bound: readonly BoundArgument[]): readonly BoundBuffer[] =>
  bound.flatMap(({ memory }) => memory ?? []);

/** Brings the outputs to where they go; those in page-locked memory were queued by the launch. */
async function bringOut(carrier: Carrier, memories: readonly BoundBuffer[]): Promise<void> {
  await waitUntilIdle(carrier.stream, { clock: carrier.clock });
  for (const { buffer, bytes, target } of memories) {
    if (target?.kind === "pieces") await downloadUnpinned(carrier, buffer, target.pieces);
    if (target?.kind === "file") {
      await download(carrier, buffer, bytes, target.file.write);
      target.file.finish(bytes);
    }
  }
}

/** Bytes that came from outside and went there: a payload counts whole, and once. */
function movedBytes(
  payload: OpenPayload,
  memories: readonly BoundBuffer[],
): Pick<JobMeasures, "bytesIn" | "bytesOut"> {
  let { bytesIn, bytesOut } = payload;
  for (const { bytes, source, target } of memories) {
    const isOwnSource = source?.kind === "pieces" ? !source.isPayload : source?.kind === "fill";
    const isOwnTarget = target?.kind === "pieces" ? !target.isPayload : target !== null;
    if (isOwnSource) bytesIn += bytes;
    if (isOwnTarget) bytesOut += bytes;
  }
  return { bytesIn, bytesOut };
}

/**
 * Brings the inputs in, launches, and waits for the end: the kernel's nanoseconds, or how it
 * failed.
 */
async function launch(
  run: Run,
  bound: readonly BoundArgument[],
): Promise<Result<number, JobResult>> {
  const { die, job, kernel, carrier } = run;
  const parameters = packParameters(
    kernel,
    bound.map(({ argument }) => argument),
  );
  if (!parameters.ok) {
    const { code, message } = parameters.error;
    return err(refused({ name: code, code: 0, call: "packParameters", message }));
  }
  const memories = memoriesOf(bound);
  for (const memory of memories) await bringIn(carrier, memory);
  const { stream, clock } = carrier;
  const { start, end } = die.events();
  const { grid, block, sharedBytes } = job;
  stream.record(start);
  const launched = stream.launch({
    kernel,
    grid,
    block,
    sharedBytes,
    parameters: parameters.value,
  });
  if (!launched.ok) return err(refused(refusalCause(launched.error)));
  stream.record(end);
  // The arena is ours alone, so what is on its way to it may come to nothing.
  for (const { buffer, target } of memories) {
    if (target?.kind === "pieces" && target.isPayload) queueDownload(stream, buffer, target.pieces);
  }
  run.onLaunched();
  // The copies in have their own time: only the kernel's counts against the timeout.
  await waitUntilReached(start, { clock });
  const outcome = await waitUntilReached(end, { timeoutMs: job.timeoutMs, clock });
  if (outcome === "timeout") return err({ status: "timeout", cause: timeoutCause(job) });
  // Memory that others see is written once the kernel has ended in time, and never after a timeout
  // was told: its owner may have given it another use by then.
  for (const { buffer, target } of memories) {
    if (target?.kind === "pieces" && !target.isPayload)
      queueDownload(stream, buffer, target.pieces);
  }
  return ok(Math.round(end.elapsedNs(start)));
}

async function bringIn(carrier: Carrier, { buffer, bytes, source }: BoundBuffer): Promise<void> {
  switch (source?.kind) {
    case "zero":
      carrier.stream.fill({ buffer, offset: 0, bytes }, 0);
      return;
    case "fill":
      return upload(carrier, buffer, bytes, source.fill);
    case "pieces":
      return uploadPieces(carrier, buffer, source.pieces);
    case undefined:
      return;
  }
}
