/**
 * Where the registers of waiting threads are kept. Each register that lives across a barrier has a
 * slot, an array of one value for each thread of a block; and one slot holds the threads' states.
 */
import { THREADS_PER_BLOCK_MAX } from "../../abi.ts";
import type { Kernel, RegisterId } from "../../ir/types.ts";
import { CONTEXT_OFFSET } from "../image.ts";
import type { Invariants } from "./invariants.ts";
import type { Liveness } from "./liveness.ts";
import { statesAfter, type Region } from "./regions.ts";
import type { Storage } from "./storage.ts";

export type ContextLayout = {
  /** Byte offsets from the start of the scratch area: of a register's value for thread 0. */
  readonly slots: ReadonlyMap<RegisterId, number>;
  /** Of thread 0's state, an i32. */
  readonly stateOffset: number;
  readonly bytes: number;
};

/** Slots a multiple of 4 KiB apart would compete for the same lines of a first-level cache. */
const SLOT_PADDING_BYTES = 192;

/** What contextLayout reads: the results of the earlier analyses. */
export type ContextInputs = {
  readonly regions: readonly Region[];
  readonly live: Liveness;
  readonly invariants: Invariants;
  readonly storage: Storage;
};

export function contextLayout(kernel: Kernel, inputs: ContextInputs): ContextLayout {
  const { regions, live, invariants, storage } = inputs;
  const slots = new Map<RegisterId, number>();
  let end = CONTEXT_OFFSET;
  const place = (bytes: number): number => {
    const offset = end;
    end += bytes * THREADS_PER_BLOCK_MAX + SLOT_PADDING_BYTES;
    return offset;
  };
  const isMixed = regions.some((region) => statesAfter(kernel, regions, region).length > 1);
  const stateOffset = isMixed ? place(4) : end;
  for (const { entry, isKernelEntry } of regions) {
    if (isKernelEntry) continue;
    for (const id of live.liveIn[entry]?.members() ?? []) {
      if (slots.has(id) || invariants.registers.has(id)) continue;
      const local = storage[id]?.local ?? "i64";
      slots.set(id, place(local === "i64" || local === "f64" ? 8 : 4));
    }
  }
  return { slots, stateOffset, bytes: end - CONTEXT_OFFSET };
}
