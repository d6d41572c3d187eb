/** One job inside a die host: bytes in, launch, bytes out. */
import { err, ok, type Clock, type Result } from "../base/mod.ts";
import {
  GpuError,
  packParameters,
  waitUntilReached,
  type DeviceBuffer,
  type GpuKernel,
  type KernelArgument,
  type ScalarType,
} from "../gpu/mod.ts";
import {
  download,
  openSource,
  openTarget,
  upload,
  type Carrier,
  type OpenSource,
  type OpenTarget,
} from "./host-bytes.ts";
import { refusalCause, type HostDie } from "./host-die.ts";
import { lossOf } from "./host-failure.ts";
import { timeoutCause, type Job, type JobArgument, type JobCause, type JobResult } from "./job.ts";

/** An argument whose files are open and whose buffer is made. */
type BoundArgument = {
  readonly argument: KernelArgument;
  readonly buffer: DeviceBuffer | null;
  readonly bytes: number;
  readonly source: OpenSource | null;
  readonly target: OpenTarget | null;
  /** Gives back what lives only as long as the job. */
  readonly close: () => void;
};

const nothing = (): void => undefined;

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
  const bound: BoundArgument[] = [];
  let isStillRunning = false;
  try {
    const prepared = prepare(die, job, bound);
    if (!prepared.ok) return { status: "refused", cause: prepared.error };
    const { kernel, carrier } = prepared.value;
    const ran = await launch({ die, job, kernel, carrier, bound, onLaunched });
    if (!ran.ok) {
      isStillRunning = ran.error.status === "timeout";
      return ran.error;
    }
    const wanted = bound.filter(({ target }) => target !== null);
    for (const { buffer, bytes, target } of wanted) {
      if (buffer !== null && target !== null) {
        await download(carrier, buffer, bytes, target.write);
        target.finish(bytes);
      }
    }
    const total = (of: readonly BoundArgument[]): number =>
      of.reduce((sum, { bytes }) => sum + bytes, 0);
    const measures = {
      kernelNs: ran.value,
      wallNs: Math.round((clock.nowMs() - startMs) * 1e6),
      bytesIn: total(bound.filter(({ source }) => (source?.fill ?? null) !== null)),
      bytesOut: total(wanted),
    };
    return { status: "ok", device: die.context.device.name, measures, proof: null };
  } catch (error) {
    const { what, cause } = lossOf(error);
    return { status: what === "device" ? "device_error" : "io_error", cause };
  } finally {
    // CUDA's free waits for kernels under way, so for an endless one without end. This process is
    // about to be ended in any case, and takes the buffers with it.
    if (!isStillRunning) for (const { close } of bound) close();
  }
}

/** Finds the kernel and binds the arguments into `bound`, which the caller closes in any case. */
function prepare(
  die: HostDie,
  job: Job,
  bound: BoundArgument[],
): Result<{ readonly kernel: GpuKernel; readonly carrier: Carrier }, JobCause> {
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
  for (const argument of job.arguments) {
    const made = bindArgument(die, argument);
    if (!made.ok) return made;
    bound.push(made.value);
  }
  return ok({ kernel: kernel.value, carrier: carrier.value });
}

/**
 * Scalars travel as decimal text; a u64 needs a bigint, and a float may be `NaN` or `-Infinity`.
 */
const scalarValue = (type: ScalarType, text: string): number | bigint =>
  type === "f32" || type === "f64" ? Number(text) : BigInt(text);

function bindArgument(die: HostDie, argument: JobArgument): Result<BoundArgument, JobCause> {
  if (argument.kind === "scalar") {
    const value = { type: argument.type, value: scalarValue(argument.type, argument.value) };
    return ok({
      argument: value,
      buffer: null,
      bytes: 0,
      source: null,
      target: null,
      close: nothing,
    });
  }
  if (argument.kind === "alias" || argument.kind === "bytes") {
    const message = `arguments of kind ${argument.kind} are not taken yet`;
    return err({ name: "not_supported", code: 0, call: "bindArgument", message });
  }
  const { bytes, source } = argument;
  const wanted = argument.kind === "buffer" ? argument.target : null;
  const path = wanted?.kind === "file" ? wanted.path : null;
  const opened = source === null ? null : openSource(source, bytes);
  let target: OpenTarget | null = null;
  try {
    target = path === null ? null : openTarget(path);
    const made =
      argument.kind === "resident" ? die.resident(argument.buffer, bytes) : allocate(die, bytes);
    if (made.ok) {
      const buffer = made.value;
      const isKept = argument.kind === "resident";
      return ok({
        argument: { buffer },
        buffer,
        bytes,
        source: opened,
        target,
        close: () => {
          opened?.close();
          target?.close();
          if (!isKept) freeUnlessLost(buffer);
        },
      });
    }
    opened?.close();
    target?.close();
    return made;
  } catch (error) {
    opened?.close();
    target?.close();
    throw error;
  }
}

function allocate(die: HostDie, bytes: number): Result<DeviceBuffer, JobCause> {
  const made = die.context.allocate(bytes);
  return made.ok ? made : err(refusalCause(made.error));
}

/** A lost context has taken its memory with it, and says so by throwing once more. */
function freeUnlessLost(buffer: DeviceBuffer): void {
  try {
    buffer.free();
  } catch (error) {
    if (!(error instanceof GpuError)) throw error;
  }
}

type LaunchSite = {
  readonly die: HostDie;
  readonly job: Job;
  readonly kernel: GpuKernel;
  readonly carrier: Carrier;
  readonly bound: readonly BoundArgument[];
  readonly onLaunched: () => void;
};

/**
 * Brings the inputs in, launches, and waits for the end: the kernel's nanoseconds, or how it
 * failed.
 */
async function launch(site: LaunchSite): Promise<Result<number, JobResult>> {
  const { die, job, kernel, carrier, bound } = site;
  const refused = (cause: JobCause): Result<never, JobResult> => err({ status: "refused", cause });
  const parameters = packParameters(
    kernel,
    bound.map(({ argument }) => argument),
  );
  if (!parameters.ok) {
    const { code, message } = parameters.error;
    return refused({ name: code, code: 0, call: "packParameters", message });
  }
  for (const { buffer, bytes, source } of bound) {
    if (buffer === null || source === null) continue;
    if (source.fill === null) carrier.stream.fill({ buffer, offset: 0, bytes }, 0);
    else await upload(carrier, buffer, bytes, source.fill);
  }
  const [start, end] = [die.context.createEvent(), die.context.createEvent()];
  const { grid, block, sharedBytes } = job;
  carrier.stream.record(start);
  const launched = carrier.stream.launch({
    kernel,
    grid,
    block,
    sharedBytes,
    parameters: parameters.value,
  });
  if (!launched.ok) return refused(refusalCause(launched.error));
  carrier.stream.record(end);
  site.onLaunched();
  const outcome = await waitUntilReached(end, { timeoutMs: job.timeoutMs });
  if (outcome === "timeout") return err({ status: "timeout", cause: timeoutCause(job) });
  const kernelNs = Math.round(end.elapsedNs(start));
  start.close();
  end.close();
  return ok(kernelNs);
}
