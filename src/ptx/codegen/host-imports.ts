/** Which functions of the host a kernel needs, and their imports. */
import { invariant } from "../../base/mod.ts";
import type { Instruction, Kernel } from "../ir/types.ts";
import type { ModuleBuilder } from "../wasm/module.ts";
import type { FunctionType } from "../wasm/value-type.ts";
import { operandsOf } from "./analysis/effects.ts";
import type { HostFunction } from "./imports.ts";

const REAL: FunctionType = { parameters: ["f64"], results: ["f64"] };

const TYPES: Readonly<Record<HostFunction, FunctionType>> = {
  clock: { parameters: [], results: ["i64"] },
  sin: REAL,
  cos: REAL,
  tanh: REAL,
};

function neededBy(instruction: Instruction): readonly HostFunction[] {
  const needed: HostFunction[] = [];
  for (const operand of operandsOf(instruction)) {
    if (operand.kind === "special" && /^(clock|clock64|globaltimer)$/.test(operand.name)) {
      needed.push("clock");
    }
  }
  if (instruction.op !== "unary") return needed;
  const name = instruction.function;
  if (name === "sin" || name === "cos" || name === "tanh") needed.push(name);
  return needed;
}

/** The imported functions of a module. */
export type HostImports = {
  readonly names: readonly HostFunction[];
  readonly index: (name: HostFunction) => number;
};

/** Imports what the kernel uses and nothing else. */
export function importHostFunctions(module: ModuleBuilder, kernel: Kernel): HostImports {
  const indexes = new Map<HostFunction, number>();
  for (const name of kernel.blocks.flatMap((block) => block.instructions.flatMap(neededBy))) {
    if (!indexes.has(name)) {
      indexes.set(name, module.importFunction("holdfast", name, TYPES[name]));
    }
  }
  return {
    names: [...indexes.keys()],
    index: (name) => {
      const index = indexes.get(name);
      invariant(index !== undefined, `${name} is imported`);
      return index;
    },
  };
}
