import type { DataType, SpecialRegister } from "./types.ts";

const AXES = ["x", "y", "z"] as const;
const INDEXED = ["tid", "ntid", "ctaid", "nctaid"] as const;

const NAMES: readonly SpecialRegister[] = [
  ...INDEXED.flatMap((name) => AXES.map((axis) => `${name}.${axis}` as const)),
  ...(["laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid"] as const),
  ...(["clock", "clock64", "globaltimer"] as const),
  ...(["eq", "le", "lt", "ge", "gt"] as const).map((order) => `lanemask_${order}` as const),
  ...(["dynamic_smem_size", "total_smem_size"] as const),
];

const BY_NAME: ReadonlyMap<string, SpecialRegister> = new Map(NAMES.map((name) => [name, name]));

/** Special registers that PTX has and the engines do not. */
const REFUSED = [
  /^%(?:clock_hi|globaltimer_lo|globaltimer_hi|aggr_smem_size|current_graph_exec)$/,
  /^%(?:pm\d+(?:_64)?|envreg\d+|(?:is_explicit_)?cluster\w*|n?clusterid|reserved_smem\w*)$/,
];

/** The special register that a name with its component stands for (`%tid` and `x`), or null. */
export function findSpecialRegister(
  name: string,
  component: string | null,
): SpecialRegister | null {
  if (!name.startsWith("%")) return null;
  const plain = component === null ? name.slice(1) : `${name.slice(1)}.${component}`;
  return BY_NAME.get(plain) ?? null;
}

/** True for a special register of PTX that cannot be read here. */
export const isRefusedSpecialRegister = (name: string): boolean =>
  REFUSED.some((pattern) => pattern.test(name));

/** How wide a special register is. */
export function specialRegisterType(name: SpecialRegister): DataType {
  return name === "clock64" || name === "globaltimer" ? "u64" : "u32";
}
