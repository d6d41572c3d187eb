/** Which registers hold a value that may still be read. */
import { invariant } from "../../../base/mod.ts";
import type { BasicBlock, BlockId, Kernel } from "../../ir/types.ts";
import { BitSet } from "./bit-set.ts";
import { readsOf, terminatorReads, writesOf } from "./effects.ts";
import { successorsOf } from "../../ir/successors.ts";

export type Liveness = {
  /** By block: the registers live where it begins. */
  readonly liveIn: readonly BitSet[];
};

type BlockEffects = { readonly reads: BitSet; readonly writes: BitSet };

/** Registers read before they are written in a block, and those surely written. */
function effectsOf(block: BasicBlock, registers: number): BlockEffects {
  const [reads, writes] = [new BitSet(registers), new BitSet(registers)];
  for (const instruction of block.instructions) {
    for (const id of readsOf(instruction)) if (!writes.has(id)) reads.add(id);
    if (instruction.guard !== null) continue;
    for (const id of writesOf(instruction)) writes.add(id);
  }
  for (const id of terminatorReads(block.terminator)) if (!writes.has(id)) reads.add(id);
  return { reads, writes };
}

/** Backward data flow to a fixed point, over the whole kernel: barriers are crossed. */
export function liveness(kernel: Kernel): Liveness {
  const count = kernel.registers.length;
  const effects = kernel.blocks.map((block) => effectsOf(block, count));
  const liveIn = effects.map(({ reads }) => {
    const live = new BitSet(count);
    live.addAll(reads);
    return live;
  });
  const at = (id: BlockId): BitSet => {
    const live = liveIn[id];
    invariant(live !== undefined, `block ${id} exists`);
    return live;
  };
  for (let changed = true; changed;) {
    changed = false;
    for (let id = kernel.blocks.length - 1; id >= 0; id -= 1) {
      const block = kernel.blocks[id];
      if (block === undefined) continue;
      for (const successor of successorsOf(block.terminator)) {
        changed = at(id).addAll(at(successor), effects[id]?.writes) || changed;
      }
    }
  }
  return { liveIn };
}
