/** The helper functions of a module: written once, when something first calls them. */
import { Code } from "../../wasm/code.ts";
import type { ModuleBuilder } from "../../wasm/module.ts";
import type { FunctionType } from "../../wasm/value-type.ts";
import { FAULT_HELPERS } from "./fault.ts";
import { FLOAT32_HELPERS } from "./float32.ts";
import { FLOAT64_HELPERS } from "./float64.ts";
import { HALF_HELPERS } from "./half.ts";
import type { Helper } from "./helper.ts";
import { INTEGER_HELPERS } from "./integer.ts";
import { TRANSCENDENTAL_HELPERS } from "./transcendental.ts";

const HELPERS = {
  ...FAULT_HELPERS,
  ...FLOAT32_HELPERS,
  ...FLOAT64_HELPERS,
  ...HALF_HELPERS,
  ...INTEGER_HELPERS,
  ...TRANSCENDENTAL_HELPERS,
} as const;

export type HelperName = keyof typeof HELPERS;

export const HELPER_NAMES = Object.keys(HELPERS) as HelperName[];

/** What a helper takes and gives. */
export function helperType(name: HelperName): FunctionType {
  return HELPERS[name].type;
}

export class Helpers {
  readonly #module: ModuleBuilder;
  readonly #indexes = new Map<string, number>();

  constructor(module: ModuleBuilder) {
    this.#module = module;
  }

  /** The function index of a helper. */
  index(name: HelperName): number {
    const known = this.#indexes.get(name);
    if (known !== undefined) return known;
    const helper: Helper = HELPERS[name];
    const index = this.#module.reserve(helper.type);
    this.#indexes.set(name, index);
    const code = new Code(helper.type.parameters);
    helper.write(code, (other) => this.index(other as HelperName));
    this.#module.define(index, code);
    return index;
  }
}
