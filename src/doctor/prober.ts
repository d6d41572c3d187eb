/**
 * What can hang, or needs native code, is done for the doctor by another process, a job at a time.
 * A die whose configuration space does not answer takes the process that asks with it; the doctor
 * waits for a while, leaves that process behind and says which job it was.
 */
import type { LibcudaReport } from "../gpu-cuda/mod.ts";

/** A job of a probe process. Paths are without the `/` they begin with. */
export type ProbeJob =
  /** Loads the driver's library, starts it and lists its devices: wakes and opens every die. */
  | { readonly kind: "libcuda" }
  /** Loads the driver's library and asks for its version alone. */
  | { readonly kind: "library" }
  /** The first bytes of a file whose reading can hang. No more than `bytesMax` are asked for. */
  | { readonly kind: "read"; readonly path: string; readonly bytesMax: number }
  /** Opens a device node for reading and writing, and closes it. */
  | { readonly kind: "open"; readonly path: string }
  /** Asks the bar_swap device which die is in its window. */
  | { readonly kind: "slot" };

/** What the bar_swap device answers to QUERY. */
export type SlotAnswer = {
  readonly dieCount: number;
  readonly occupant: number | null;
  readonly holderPid: number | null;
  /** PCI addresses by die; null where it does not say. */
  readonly addresses: readonly (string | null)[];
};

/** What a job came to. `failed` has errno's name or the like, and a line. */
export type ProbeResult =
  | { readonly state: "bytes"; readonly hex: string }
  | { readonly state: "opened" }
  | { readonly state: "libcuda"; readonly report: LibcudaReport }
  | { readonly state: "slot"; readonly answer: SlotAnswer }
  | { readonly state: "failed"; readonly code: string; readonly message: string }
  | { readonly state: "hung"; readonly afterMs: number }
  /** Nobody asked: the tree is a recorded one. */
  | { readonly state: "not_asked" };

/** What a job is called, in messages and in a recorded tree, e.g. `open dev/nvidiactl`. */
export const probeKey = (job: ProbeJob): string =>
  "path" in job ? `${job.kind} ${job.path}` : job.kind;

/** Runs jobs, one after another; the results are in the same order. */
export type Prober = (jobs: readonly ProbeJob[]) => Promise<readonly ProbeResult[]>;
