/**
 * The protocol between the owner process and a die host: what can be asked and what comes back,
 * then the codec. A frame is a u32 length, little-endian, and that many bytes of JSON; numbers
 * wider than 53 bits are decimal text. Both ends are always of one build, so there is no version in
 * it.
 */
import { invariant } from "../base/mod.ts";
import type { DeviceInfo } from "../gpu/mod.ts";
import type { Job, JobCause, JobResult, ModuleReference } from "./job.ts";
import type { DieTeardown } from "./reports.ts";

/**
 * Longest frame. The longest real one is a job of many arguments with long paths, below 256 KiB.
 */
export const FRAME_BYTES_MAX = 1024 * 1024;

const HEADER_BYTES = 4;

/** Every call a die host answers: what is sent, and what comes back when it went well. */
export type HostCalls = {
  /** Opens the backend (cuInit). `note` is one line for the log, e.g. why `auto` chose `soft`. */
  readonly initialise: {
    readonly request: object;
    readonly reply: { readonly devices: readonly DeviceInfo[]; readonly note: string | null };
  };
  /** Asks the driver again how many devices it counts. */
  readonly count: { readonly request: object; readonly reply: { readonly devices: number } };
  readonly context: {
    readonly request: { readonly die: number; readonly ordinal: number };
    readonly reply: { readonly device: DeviceInfo };
  };
  readonly module: {
    readonly request: { readonly die: number; readonly module: ModuleReference };
    readonly reply: { readonly kernels: readonly string[] };
  };
  /** Makes a resident buffer of that size; one that exists with that size stays as it is. */
  readonly resident: {
    readonly request: { readonly die: number; readonly buffer: string; readonly bytes: number };
    readonly reply: { readonly address: string };
  };
  /**
   * The window shows this die now, null: none; no other die of this host may be touched until the
   * next.
   */
  readonly window: { readonly request: { readonly die: number | null }; readonly reply: object };
  /** Runs the probe kernel and checks its answer. */
  readonly probe: {
    readonly request: { readonly die: number; readonly module: ModuleReference };
    readonly reply: { readonly right: boolean };
  };
  /** Replies once the kernel is launched; the result follows as a `finished` event. */
  readonly start: {
    readonly request: { readonly die: number; readonly job: Job };
    readonly reply: object;
  };
  /** Copies the work kernel's output back and compares it with the CPU reference. */
  readonly collect: {
    readonly request: {
      readonly die: number;
      readonly buffer: string;
      readonly elements: number;
      readonly seed: number;
      readonly iters: number;
    };
    readonly reply: Collected;
  };
  readonly memory: {
    readonly request: { readonly die: number };
    readonly reply: { readonly freeBytes: number; readonly totalBytes: number };
  };
  /** Destroys what every die holds, then its context; the host ends by itself after the reply. */
  readonly teardown: {
    readonly request: object;
    readonly reply: { readonly dies: readonly DieTeardown[] };
  };
};

export type Collected = {
  readonly bad: number;
  readonly checked: number;
  readonly firstSample: number;
  readonly lastSample: number;
  readonly firstBad: {
    readonly index: number;
    readonly expected: number;
    readonly actual: number;
  } | null;
};

export type HostCallName = keyof HostCalls;

/** From the owner to the host. */
export type HostRequest = {
  readonly [K in HostCallName]: { readonly id: number; readonly call: K } & {
    readonly body: HostCalls[K]["request"];
  };
}[HostCallName];

/** `refused`: nothing was lost. `lost`: the context, or more, is of no use any more. */
export type HostFailure = { readonly kind: "refused" | "lost"; readonly cause: JobCause };

/**
 * From the host to the owner. `finished` closes the `start` request of the same id; a `note`
 * answers nothing, and is for the log.
 */
export type HostMessage =
  | { readonly kind: "note"; readonly line: string }
  | { readonly id: number; readonly kind: "reply"; readonly body: unknown }
  | { readonly id: number; readonly kind: "failure"; readonly failure: HostFailure }
  | { readonly id: number; readonly kind: "finished"; readonly result: JobResult };

/** One frame, ready to be written. */
export function encodeFrame(value: HostRequest | HostMessage): Buffer {
  const body = Buffer.from(JSON.stringify(value), "utf8");
  invariant(body.length <= FRAME_BYTES_MAX, `a frame of ${String(body.length)} bytes`);
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  frame.writeUInt32LE(body.length, 0);
  body.copy(frame, HEADER_BYTES);
  return frame;
}

/**
 * Takes a stream's chunks and returns the frames that are whole. A length beyond the limit can only
 * come from a bug or from memory that a wild pointer has overwritten, so it throws.
 */
export function createFrameReader(): (chunk: Buffer) => unknown[] {
  let pending: Buffer = Buffer.alloc(0);
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const frames: unknown[] = [];
    while (pending.length >= HEADER_BYTES) {
      const bytes = pending.readUInt32LE(0);
      if (bytes > FRAME_BYTES_MAX) throw new RangeError(`a frame of ${String(bytes)} bytes`);
      if (pending.length < HEADER_BYTES + bytes) break;
      frames.push(JSON.parse(pending.toString("utf8", HEADER_BYTES, HEADER_BYTES + bytes)));
      pending = pending.subarray(HEADER_BYTES + bytes);
    }
    return frames;
  };
}
