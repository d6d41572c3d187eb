import { err, ok, type Result } from "../base/mod.ts";
import type { GpuRefusal, GpuRefusalCode } from "../gpu/mod.ts";
import {
  compileFront,
  compileKernel,
  formatDiagnostic,
  type CompiledKernel,
  type Diagnostic,
  type DiagnosticCode,
  type KernelEntry,
} from "../ptx/mod.ts";
import type { Compiler } from "./compiler.ts";
import { refusal, refuse } from "./refusal.ts";

const REFUSAL_CODES: Readonly<Record<DiagnosticCode, GpuRefusalCode>> = {
  invalid_ptx: "invalid_ptx",
  unsupported_ptx_version: "unsupported_ptx_version",
  unsupported_instruction: "unsupported_instruction",
  unsupported_feature: "unsupported_instruction",
  limit_exceeded: "too_many_resources",
};

const LOAD = "cuModuleLoadDataEx";

const refusalOf = (diagnostic: Diagnostic, call: string): GpuRefusal =>
  refusal(REFUSAL_CODES[diagnostic.code], call, formatDiagnostic(diagnostic));

/**
 * PTX by way of WebAssembly. A text is refused when it breaks PTX's rules anywhere, as a driver
 * would, or when none of its kernels can be run. One kernel that cannot be run does not cost the
 * others of its file: it is refused when it is asked for.
 */
export const ptxCompiler: Compiler = {
  computeCapability: [9, 0],
  load: (ptx, fileName) => {
    const front = compileFront(ptx, fileName);
    if (!front.ok) return err(refusalOf(front.error, LOAD));
    const { entries, data } = front.value;
    const unusable = worstDiagnostic(entries);
    if (unusable !== null) return err(refusalOf(unusable, LOAD));
    return ok({
      kernelNames: entries.map((entry) => entry.name),
      data,
      compile: (kernelName) => compileEntry(entries, kernelName),
    });
  },
};

/** What makes the whole text unusable; null where at least one kernel can be run. */
function worstDiagnostic(entries: readonly KernelEntry[]): Diagnostic | null {
  const diagnostics = entries.flatMap((entry) => {
    const lowered = entry.lower();
    return lowered.ok ? [] : [lowered.error];
  });
  const invalid = diagnostics.find(({ code }) => code === "invalid_ptx");
  if (invalid !== undefined) return invalid;
  return diagnostics.length === entries.length ? (diagnostics[0] ?? null) : null;
}

function compileEntry(
  entries: readonly KernelEntry[],
  kernelName: string,
): Result<CompiledKernel, GpuRefusal> {
  const call = "cuModuleGetFunction";
  const lowered = entries.find((entry) => entry.name === kernelName)?.lower();
  if (lowered === undefined) return refuse("kernel_not_found", call, `no kernel ${kernelName}`);
  if (!lowered.ok) return err(refusalOf(lowered.error, call));
  return ok(compileKernel(lowered.value));
}
