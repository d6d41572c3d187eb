import type { BlockId, Terminator } from "./types.ts";

/** Where control can go next, a barrier's resume point included. */
export function successorsOf(terminator: Terminator): readonly BlockId[] {
  switch (terminator.kind) {
    case "jump":
      return [terminator.target];
    case "branch":
      return [terminator.onTrue, terminator.onFalse];
    case "barrier":
      return [terminator.resume];
    case "exit":
    case "trap":
      return [];
  }
}
