import { successorsOf } from "../../ir/successors.ts";
import type { BlockId, Terminator } from "../../ir/types.ts";

/** Where control can go next without crossing a barrier. */
export function regionSuccessorsOf(terminator: Terminator): readonly BlockId[] {
  return terminator.kind === "barrier" ? [] : successorsOf(terminator);
}
