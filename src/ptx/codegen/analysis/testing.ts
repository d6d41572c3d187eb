/** Kernels that are nothing but control flow, for tests of the analyses. */
import type { BasicBlock, Guard, Kernel, Terminator } from "../../ir/types.ts";

const POSITION = { line: 1, column: 1 } as const;
const PREDICATE: Guard = { id: 0, negated: false };

function parseTerminator(text: string): Terminator {
  const [kind = "", first = "0", second = "0"] = text.split(" ");
  const [one, two] = [Number(first), Number(second)];
  switch (kind) {
    case "jump":
      return { position: POSITION, kind, target: one };
    case "branch":
      return { position: POSITION, kind, predicate: PREDICATE, onTrue: one, onFalse: two };
    case "barrier":
      return { position: POSITION, kind, resume: one };
    case "trap":
      return { position: POSITION, kind };
    default:
      return { position: POSITION, kind: "exit" };
  }
}

/**
 * A kernel with one block for each text: `jump 1`, `branch 1 2`, `barrier 1`, `exit` or `trap`. All
 * branches are on register 0, a predicate.
 */
export function controlFlow(...terminators: readonly string[]): Kernel {
  const blocks = terminators.map((text): BasicBlock => ({
    instructions: [],
    terminator: parseTerminator(text),
  }));
  return {
    name: "test",
    parameters: [],
    parameterBytes: 0,
    registers: [{ name: "%p", type: "pred" }],
    blocks,
    sharedBytes: 0,
    localBytes: 0,
    threadsMax: null,
  };
}
