/**
 * Jobs: what every frontend makes (repl, bridge, server) and a die host executes. A job carries
 * references to bytes, never bytes; the die host reads and writes them itself, so no payload passes
 * through the owner process. Everything here is plain JSON, since it crosses a process border.
 */
import type { CatalogueName, Dim3, ScalarType } from "../gpu/mod.ts";

/** PTX that a die host loads on first use and loads again after it was replaced. */
export type ModuleReference = {
  /** What messages call it. */
  readonly name: string;
  /** Where its text is; a die host reads it itself. Absolute. */
  readonly path: string;
  /** Lower-case hex of the text's SHA-256, where the job names it: other text is refused. */
  readonly sha256?: string;
};

/** A range of a file. */
export type FileRegion = { readonly path: string; readonly offset: number; readonly bytes: number };

/** Generated input, for humans and for checks that need no file. Little-endian elements. */
export type Pattern =
  /** The owner's work pattern: f32, whole numbers 0..1023 made from `seed` and the index. */
  | { readonly kind: "work"; readonly seed: number }
  /** `scale * (i mod modulus)` as f32. */
  | { readonly kind: "ramp"; readonly scale: number; readonly modulus: number }
  /** Every element is `value`. */
  | { readonly kind: "constant"; readonly type: ScalarType; readonly value: string }
  /** The index, from 0, converted to the type. */
  | { readonly kind: "index"; readonly type: ScalarType }
  /**
   * Uniform: integers over the type's whole range, floats in [0, 1). The same seed, the same data.
   */
  | { readonly kind: "random"; readonly type: ScalarType; readonly seed: number };

/** Where the bytes of an argument come from before the launch. */
export type ByteSource =
  | { readonly kind: "file"; readonly region: FileRegion }
  | { readonly kind: "pattern"; readonly pattern: Pattern }
  | { readonly kind: "zero" }
  /** A slice of the job's payload input, from its byte `offset` on. */
  | { readonly kind: "payload"; readonly offset: number }
  /** A file that is memory (a guest's RAM), mapped once and kept: transfers go straight from it. */
  | { readonly kind: "memory"; readonly path: string; readonly offset: number };

/** Where the bytes of an argument go after the launch. */
export type ByteTarget =
  /** The file is made, or cut to size. */
  | { readonly kind: "file"; readonly path: string }
  /** A slice of the job's payload output, from its byte `offset` on. */
  | { readonly kind: "payload"; readonly offset: number }
  /** As the source of that kind: transfers go straight to it. */
  | { readonly kind: "memory"; readonly path: string; readonly offset: number };

/**
 * Two files that arguments take their slices of, each moved whole: the input is read before the
 * launch, the output is written after it. Device files give and take a record in one call only.
 */
export type JobPayload = {
  /** Exactly `bytes` bytes from offset 0 are read; the file may hold more. Null: none is read. */
  readonly input: { readonly path: string; readonly bytes: number } | null;
  /** Null: nothing is written. Bytes that no argument targets are zero. */
  readonly output: PayloadOutput | null;
};

export type PayloadOutput = {
  readonly path: string;
  readonly bytes: number;
  /**
   * `rename`: into a file beside it that then takes its place, so that nobody ever sees half of it.
   * `in_place`: one write(2) of the whole, as device and debugfs files want it.
   */
  readonly placement: "rename" | "in_place";
};

export type JobArgument =
  /** `value` is decimal text, since a u64 fits no JSON number. */
  | { readonly kind: "scalar"; readonly type: ScalarType; readonly value: string }
  /** A buffer that lives as long as the job. `target` null: the bytes are not wanted back. */
  | {
      readonly kind: "buffer";
      readonly bytes: number;
      readonly source: ByteSource;
      readonly target: ByteTarget | null;
    }
  /** A buffer that stays on the die between jobs; made by the first job that names it. */
  | {
      readonly kind: "resident";
      readonly buffer: string;
      readonly bytes: number;
      /** Fills the buffer before the launch; null leaves it as it is. */
      readonly source: ByteSource | null;
    }
  /** A pointer into the buffer of another argument (by its index): that kernel's aliasing. */
  | { readonly kind: "alias"; readonly argument: number; readonly offset: number }
  /** A struct by value: `bytes` bytes of the payload input from `offset` on. */
  | { readonly kind: "bytes"; readonly offset: number; readonly bytes: number };

/** How much of an output is compared with its CPU reference. */
export type CheckExtent = "full" | "sample" | "none";

/** What the die host proves of a job's outputs while it has them at hand. */
export type JobCheck = {
  /**
   * Compare the output of argument 0 with this kernel's reference, computed from the job's own
   * inputs; null where there is no reference.
   */
  readonly reference: CatalogueName | null;
  readonly extent: CheckExtent;
  /** Elements of each array of the reference. */
  readonly elements: number;
  /** Of `slow_add`; else 0. */
  readonly iterations: number;
  /** Decimal u64 from which `sample` draws its pages. */
  readonly sampleSeed: string;
  /** Outputs that the checksum runs over, in this order. */
  readonly sums: readonly { readonly argument: number; readonly type: ScalarType }[];
};

/** What was found. Floats are text (`NaN`, `-Infinity`, `0.1`), since JSON has no word for some. */
export type JobProof = {
  /** Elements that were compared, and how many of them were wrong. */
  readonly checked: number;
  readonly bad: number;
  /** f64 sum of every element of the outputs in `sums`, first to last. */
  readonly checksum: string;
  /** First element of the first summed output; null where there is none. */
  readonly firstSample: string | null;
  readonly firstBad: {
    readonly index: number;
    readonly expected: string;
    readonly actual: string;
  } | null;
};

export type Job = {
  readonly module: ModuleReference;
  readonly entry: string;
  readonly grid: Dim3;
  readonly block: Dim3;
  /** Dynamic shared memory. */
  readonly sharedBytes: number;
  readonly arguments: readonly JobArgument[];
  readonly payload?: JobPayload;
  readonly check?: JobCheck;
  /** From the launch; the kernel is ended by ending its die host, since none can be cancelled. */
  readonly timeoutMs: number;
};

/** How a job ended; the names of DESIGN section 6's status table where both have one. */
export type JobStatus =
  /** Done. */
  | "ok"
  /**
   * The job was wrong: bad PTX, missing entry, argument count, sizes, no room. Nothing was lost.
   */
  | "refused"
  /** A file could not be read or written. Nothing was lost. */
  | "io_error"
  /** The device or its context failed; the die host is replaced. */
  | "device_error"
  /** It outlived its timeout; the die host is replaced. */
  | "timeout"
  /** The die host died under it. */
  | "lost";

/** Why a job did not end well. */
export type JobCause = {
  /**
   * The driver's own name where the driver refused or failed (`CUDA_ERROR_OUT_OF_MEMORY`, also for
   * page-locked host memory; `CUDA_ERROR_NOT_FOUND` for an entry; what `cuLaunchKernel` and
   * `cuFuncSetAttribute` refuse is the launch's shape); errno's name, or `SHORT`, for a file; or:
   * - `argument_count`, `argument_type`, `argument_size`, `argument_value`: not what the kernel
   *   declares; `argument_range`: a slice outside of what it is a slice of; `argument_alias`: an
   *   alias of what has no buffer; `payload_too_large`; `check_argument`: a check that cannot be;
   * - `module_not_found`, `module_unreadable`, `module_changed` (other text than `sha256` says),
   *   `ptx_too_large`;
   * - `host_stuck` (a timeout before the launch), `die_host_died`, `leaving`, and the owner's
   *   refusal codes, e.g. `no_device`.
   */
  readonly name: string;
  /** The driver's number; 0 where the driver had no part in it. */
  readonly code: number;
  /** The call that failed, e.g. `cuCtxSynchronize`, `open`. */
  readonly call: string;
  /** One line that says what is wrong and, where there is one, the mend. */
  readonly message: string;
};

/** The cause told to dies whose host was replaced so that another die is counted in it. */
export const HOST_REPLACED = "host_replaced";

/** A cause in one line: which call, the name, the message; each once, since drivers repeat them. */
export function describeCause({ name, call, message }: JobCause): string {
  const named = message.includes(name) ? message : `${name}: ${message}`;
  return named.includes(call) ? named : `${call}: ${named}`;
}

/** What was measured of a job. */
export type JobMeasures = {
  /** The device's own time between launch and end of the kernel. */
  readonly kernelNs: number;
  /** From the job's arrival in the die host to its last byte written. */
  readonly wallNs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
};

export type JobResult =
  | {
      readonly status: "ok";
      readonly device: string;
      readonly measures: JobMeasures;
      /** Null where the job asked for no check. `ok` with `bad` above 0 ran, and is wrong. */
      readonly proof: JobProof | null;
    }
  | {
      readonly status: Exclude<JobStatus, "ok">;
      readonly cause: JobCause;
      /** Of `lost`: its turn in the host had not come, so it had no part in the host's end. */
      readonly wasWaiting?: boolean;
    };

/** CUDA's own number and name for a kernel that ran too long. */
export const timeoutCause = (job: Job): JobCause => ({
  name: "CUDA_ERROR_LAUNCH_TIMEOUT",
  code: 702,
  call: "cuLaunchKernel",
  message:
    `${job.entry} was still running after ${String(job.timeoutMs)} ms ` +
    "(CUDA_ERROR_LAUNCH_TIMEOUT); a kernel cannot be cancelled, so its die host is replaced",
});
