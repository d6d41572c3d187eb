export { compileFront, lowerModule, readSignatures, type KernelSignature } from "./ir/lower.ts";
export type { Kernel, KernelEntry, Parameter, PtxModule } from "./ir/types.ts";
export { formatDiagnostic, type Diagnostic, type DiagnosticCode } from "./syntax/diagnostic.ts";
export { parsePtx } from "./syntax/parser.ts";
