import type { Position } from "../ir/types.ts";

/** CUDA's own numbers: illegal address, illegal instruction (trap), misaligned address. */
export type FaultCode = 700 | 715 | 716;

/** What a kernel did wrong, and which thread did it. */
export type Fault = Position & {
  readonly code: FaultCode;
  /** Absolute for global memory; an offset in its own space for shared, local and param. */
  readonly address: bigint;
  /** Bytes of the access; 0 for a trap. */
  readonly bytes: number;
  /** Linear index of the thread in its block, and of the block in the grid; x is fastest. */
  readonly thread: number;
  readonly block: number;
};

/** How a run ended. `stepLimit`: after more instructions than the caller allowed. */
export type Outcome =
  | { readonly kind: "finished"; readonly steps: number }
  | { readonly kind: "fault"; readonly fault: Fault }
  | { readonly kind: "stepLimit"; readonly steps: number };

/** Carries a fault from an access to the loop that runs the kernel; never leaves this folder. */
export class FaultSignal extends Error {
  override readonly name = "FaultSignal";
  readonly code: FaultCode;
  readonly address: bigint;
  readonly bytes: number;

  constructor(code: FaultCode, address: bigint, bytes: number) {
    super(`fault ${String(code)}`);
    this.code = code;
    this.address = address;
    this.bytes = bytes;
  }
}
