/**
 * PTX kernels to WebAssembly. The passes, in order:
 *
 *   analysis/definitions   which instructions write each register
 *   analysis/liveness      which registers are live where each block begins
 *   analysis/regions       the kernel split at its barriers, blocks in reverse postorder
 *   analysis/dominators    dominator tree, loop headers, merge nodes, reducibility of each region
 *   analysis/structure     the region as blocks, loops and branches
 *   analysis/storage       the wasm type of each register's local, and how exact its NaNs are
 *   analysis/invariants    registers that are computed once for a block
 *   analysis/context       where registers are kept across barriers
 *   scalar/region          one function for each region
 *   scalar/run             the loop over blocks and the scheduler
 *   wasm/module            the bytes
 */
import { THREADS_PER_BLOCK_MAX } from "../abi.ts";
import type { Kernel } from "../ir/types.ts";
import { ModuleBuilder } from "../wasm/module.ts";
import { analyse, type Analysis } from "./analysis/analyse.ts";
import { statesAfter } from "./analysis/regions.ts";
import { Helpers } from "./helpers/catalogue.ts";
import type { CompiledKernel } from "./image.ts";
import { importHostFunctions } from "./host-imports.ts";
import { printAnalysis } from "./print.ts";
import type { KernelContext } from "./scalar/emitter.ts";
import { GLOBAL_COUNT } from "./scalar/globals.ts";
import { REGION_TYPE, regionFunction } from "./scalar/region.ts";
import {
  DISPATCH_TYPE,
  dispatchFunction,
  RUN_TYPE,
  runFunction,
  SCHEDULE_TYPE,
  scheduleFunction,
} from "./scalar/run.ts";

export type CompileOptions = {
  /** Takes the printed results of the analyses, one pass at a time. */
  readonly trace?: (pass: string, text: string) => void;
};

/** A memory of any size that wasm32 allows, in pages of 64 KiB. */
const MEMORY_PAGES = { minimum: 1, maximum: 65536 } as const;

/** Compiles a kernel. Whatever lowering accepts can be compiled. */
export function compileKernel(kernel: Kernel, options: CompileOptions = {}): CompiledKernel {
  const analysis = analyse(kernel);
  if (options.trace !== undefined) printAnalysis(kernel, analysis, options.trace);
  const module = new ModuleBuilder();
  module.imports.sharedMemory("holdfast", "memory", MEMORY_PAGES);
  const host = importHostFunctions(module, kernel);
  const helpers = new Helpers(module);
  for (let index = 0; index < GLOBAL_COUNT; index += 1) module.globals.add("i32");
  module.exports.function(
    "run",
    writeFunctions(module, analysis, {
      kernel,
      storage: analysis.storage,
      helper: (name) => helpers.index(name),
      host: host.index,
    }),
  );
  return {
    name: kernel.name,
    wasm: module.encode(),
    parameters: kernel.parameters,
    parameterBytes: kernel.parameterBytes,
    sharedBytes: kernel.sharedBytes,
    localBytes: kernel.localBytes,
    threadsMax: Math.min(kernel.threadsMax ?? THREADS_PER_BLOCK_MAX, THREADS_PER_BLOCK_MAX),
    contextBytes: analysis.context.bytes,
    imports: host.names,
  };
}

/** Defines every function of the module and returns the index of `run`. */
function writeFunctions(module: ModuleBuilder, analysis: Analysis, context: KernelContext): number {
  const { kernel } = context;
  const regions = analysis.analysed.map((analysed) => {
    const index = module.reserve(REGION_TYPE);
    module.define(index, regionFunction(context, analysis, analysed));
    return index;
  });
  const dispatch = module.reserve(DISPATCH_TYPE);
  module.define(dispatch, dispatchFunction(regions));
  const canDisagree = analysis.regions.some(
    (region) => statesAfter(kernel, analysis.regions, region).length > 1,
  );
  let schedule: number | null = null;
  if (canDisagree) {
    schedule = module.reserve(SCHEDULE_TYPE);
    module.define(schedule, scheduleFunction(dispatch, analysis.context.stateOffset));
  }
  const run = module.reserve(RUN_TYPE);
  module.define(run, runFunction({ localBytes: kernel.localBytes, dispatch, schedule }));
  return run;
}
