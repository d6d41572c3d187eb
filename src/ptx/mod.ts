export {
  FAULT,
  FAULT_CODE,
  GRANULE_BYTES,
  LAUNCH,
  LAUNCH_BYTES,
  SHARED_BYTES_PER_BLOCK_MAX,
  THREADS_PER_BLOCK_MAX,
} from "./abi.ts";
export { scratchLayout, type CompiledKernel, type ScratchLayout } from "./codegen/image.ts";
export { kernelImports } from "./codegen/imports.ts";
export { compileFront, lowerModule, readSignatures, type KernelSignature } from "./ir/lower.ts";
export type { Kernel, KernelEntry, ModuleData, Parameter, PtxModule } from "./ir/types.ts";
export { formatDiagnostic, type Diagnostic, type DiagnosticCode } from "./syntax/diagnostic.ts";
export { parsePtx } from "./syntax/parser.ts";
