/** Which operations define each register. */
import type { Instruction, Kernel } from "../../ir/types.ts";
import { writesOf } from "./effects.ts";

/** By register: the instructions that write it, in the order of the blocks. */
export type Definitions = readonly (readonly Instruction[])[];

export function definitions(kernel: Kernel): Definitions {
  const found = kernel.registers.map((): Instruction[] => []);
  for (const block of kernel.blocks) {
    for (const instruction of block.instructions) {
      for (const id of writesOf(instruction)) found[id]?.push(instruction);
    }
  }
  return found;
}
