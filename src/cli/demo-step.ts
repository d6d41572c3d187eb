/** What a step of the demo is. */
import type { Result } from "../base/mod.ts";
import type { Owner } from "../owner/mod.ts";

/** What the steps work with. */
export type DemoStage = {
  readonly owner: Owner;
  /** Absolute path of kernels/base.ptx. */
  readonly basePayload: string;
  /** For the kernels' outputs; exists. */
  readonly folder: string;
  readonly timeoutMs: number;
};

/** One row of the demo's table. */
export type DemoRow = {
  readonly step: string;
  readonly seen: string;
  /** Null where the step shows something and checks nothing. */
  readonly pass: boolean | null;
};

/** Why a step could not be done. */
export type DemoFailure = {
  readonly step: string;
  readonly message: string;
  /** True where there is no GPU to do it on; else the GPU failed. */
  readonly isAbsent: boolean;
};

export type DemoStep = (stage: DemoStage) => Promise<Result<DemoRow, DemoFailure>>;
