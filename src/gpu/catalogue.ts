/**
 * The kernels we ship, as one table: what a job's op number names, where its entry is, how its
 * arguments lie and how wide it is launched. The references in `reference.ts` say what each gives.
 */
import { invariant } from "../base/mod.ts";
import type { Dim3 } from "./gpu.ts";
import type { ScalarType } from "./parameters.ts";
import { WORK_BLOCK_THREADS } from "./pattern.ts";
import { PROBE_THREADS } from "./reference.ts";

export type CatalogueName = "mail" | "vadd" | "vadd_mutated" | "slow_add" | "probe" | "sum_f64";

/** One argument: an array of `elements` in device memory, or a number. */
export type CatalogueParameter = {
  readonly name: string;
  readonly kind: "output" | "input" | "number";
  /** Of the number, or of one element of the array. */
  readonly type: ScalarType;
};

export type CatalogueKernel = {
  /** The op number of a job record; null where no record can ask for it. */
  readonly operation: number | null;
  readonly name: CatalogueName;
  /** The PTX file, from the package's root. */
  readonly module: string;
  readonly entry: string;
  readonly parameters: readonly CatalogueParameter[];
  readonly blockThreads: number;
  /** Blocks for `elements` elements; at least one. */
  readonly gridBlocks: (elements: number) => number;
};

/** Blocks of `sum_f64`, so that its partial sums are few (8 KiB) and each thread has work. */
export const SUM_BLOCKS_MAX = 1024;

const BASE_MODULE = "kernels/base.ptx";

const oneThreadEach = (elements: number): number =>
  Math.max(1, Math.ceil(elements / WORK_BLOCK_THREADS));

const output = (type: ScalarType, name = "out"): CatalogueParameter => ({
  name,
  kind: "output",
  type,
});
const input = (type: ScalarType, name = "in"): CatalogueParameter => ({
  name,
  kind: "input",
  type,
});
const count = (name: string): CatalogueParameter => ({ name, kind: "number", type: "u32" });

const common = {
  module: BASE_MODULE,
  blockThreads: WORK_BLOCK_THREADS,
  gridBlocks: oneThreadEach,
} as const;

const vaddParameters = [output("f32"), input("f32", "a"), input("f32", "b"), count("n")] as const;

/** Every kernel of the catalogue, in the order of their op numbers. */
export const CATALOGUE: readonly CatalogueKernel[] = [
  {
    ...common,
    operation: 1,
    name: "mail",
    entry: "mail",
    parameters: [output("u32"), input("u32"), count("n")],
  },
  { ...common, operation: 2, name: "vadd", entry: "vadd", parameters: vaddParameters },
  {
    ...common,
    operation: 3,
    name: "vadd_mutated",
    entry: "vadd_mutated",
    parameters: vaddParameters,
  },
  {
    ...common,
    operation: 4,
    name: "slow_add",
    entry: "slow_add",
    parameters: [output("f32"), input("f32"), count("n"), count("iters")],
  },
  {
    ...common,
    operation: null,
    name: "probe",
    entry: "probe",
    parameters: [output("u32"), count("token")],
    blockThreads: PROBE_THREADS,
    gridBlocks: () => 1,
  },
  {
    ...common,
    operation: null,
    name: "sum_f64",
    entry: "sum_f64",
    parameters: [output("f64", "partials"), input("f32"), count("n")],
    gridBlocks: (elements) => Math.min(oneThreadEach(elements), SUM_BLOCKS_MAX),
  },
];

const BY_NAME = new Map(CATALOGUE.map((kernel) => [kernel.name, kernel]));

/** The kernel of that name. */
export function catalogueKernel(name: CatalogueName): CatalogueKernel {
  const kernel = BY_NAME.get(name);
  invariant(kernel !== undefined, `${name} is in the catalogue`);
  return kernel;
}

/** The kernel that a job's op number names, or null where it names none. */
export function catalogueOperation(operation: number): CatalogueKernel | null {
  return CATALOGUE.find((kernel) => kernel.operation === operation) ?? null;
}

/** Grid and block of a launch over `elements` elements. */
export function launchShape(
  kernel: CatalogueKernel,
  elements: number,
): { readonly grid: Dim3; readonly block: Dim3 } {
  return { grid: [kernel.gridBlocks(elements), 1, 1], block: [kernel.blockThreads, 1, 1] };
}
