import type { Code } from "../../wasm/code.ts";
import type { FunctionType } from "../../wasm/value-type.ts";

/** A function that compiled code calls; `indexOf` gives the index of another helper by its name. */
export type Helper = {
  readonly type: FunctionType;
  readonly write: (code: Code, indexOf: (name: string) => number) => void;
};
