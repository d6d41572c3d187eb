export {
  FAULT,
  FAULT_CODE,
  GRANULE_BYTES,
  LAUNCH,
  LAUNCH_BYTES,
  SHARED_BYTES_PER_BLOCK_MAX,
  THREADS_PER_BLOCK_MAX,
} from "./abi.ts";
export { compileKernel } from "./codegen/compile.ts";
export { scratchLayout, type CompiledKernel, type ScratchLayout } from "./codegen/image.ts";
export { kernelImports } from "./codegen/imports.ts";
export { interpret, relocateData, STEPS_MAX_DEFAULT } from "./interpreter/interpreter.ts";
export type { Dimensions, Interpretation, Launch } from "./interpreter/interpreter.ts";
export { createPlainMemory, type InterpreterMemory } from "./interpreter/memory.ts";
export type { Fault, FaultCode, Outcome } from "./interpreter/outcome.ts";
export { compileFront, lowerModule, readSignatures, type KernelSignature } from "./ir/lower.ts";
export { printKernel } from "./ir/print.ts";
export { DATA_TYPE_BYTES } from "./ir/types.ts";
export type { DataType, Kernel, KernelEntry, ModuleData } from "./ir/types.ts";
export type { Parameter, Position, PtxModule } from "./ir/types.ts";
export { verifyKernel } from "./ir/verify.ts";
export { formatDiagnostic, type Diagnostic, type DiagnosticCode } from "./syntax/diagnostic.ts";
export { parsePtx } from "./syntax/parser.ts";
export { printModule } from "./syntax/print.ts";
