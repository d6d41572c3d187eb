import { err, invariant, ok, type Result } from "../base/mod.ts";
import type { GpuKernel, GpuModule, GpuRefusal, ReadSignatures } from "../gpu/mod.ts";
import { FUNCTION_ATTRIBUTE } from "./abi.ts";
import { attempt, check, refusal } from "./check.ts";
import { once, type CudaScope } from "./cuda-scope.ts";
import { CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NOT_FOUND } from "./error-codes.ts";
import { makeKernelParameters, type KernelParameters } from "./kernel-parameters-ffi.ts";
import type { Libcuda } from "./libcuda-ffi.ts";
import { loadPtx } from "./module-load-ffi.ts";
import { out, outInt, outLong, outOtherSize, outSize } from "./out-values.ts";

/** What a launch needs of a kernel beside its signature. */
export type LoadedKernel = {
  readonly function: bigint;
  readonly parameters: KernelParameters;
  readonly staticSharedBytes: number;
  /** The dynamic shared memory that the driver was last told to allow. */
  allowedSharedBytes: number;
  readonly isUnloaded: () => boolean;
};

/** A context's modules, and what is known of their kernels. */
export type CudaModules = {
  readonly load: (ptx: string, name: string) => Result<GpuModule, GpuRefusal>;
  /** The kernel must be one of this context's, from a module that is still loaded. */
  readonly loadedKernel: (kernel: GpuKernel) => LoadedKernel;
};

export function openModules(scope: CudaScope, readSignatures: ReadSignatures): CudaModules {
  const kernels = new WeakMap<GpuKernel, LoadedKernel>();
  return {
    load: (ptx, name) => {
      const module = compile(scope, ptx, name);
      if (!module.ok) return module;
      const signatures = readSignatures(ptx, name);
      if (!signatures.ok) {
        check("cuModuleUnload", scope.activate().cuModuleUnload(module.value));
        const why = signatures.error.message;
        const message = `the driver takes ${name}, but its signatures cannot be read: ${why}`;
        return err(refusal("readSignatures", CUDA_ERROR_INVALID_PTX, message));
      }
      return ok(openModule({ scope, module: module.value, name, kernels }, signatures.value));
    },
    loadedKernel: (kernel) => {
      const loaded = kernels.get(kernel);
      invariant(loaded !== undefined, `${kernel.name} comes from a module of this context`);
      invariant(!loaded.isUnloaded(), `the module of ${kernel.name} is still loaded`);
      return loaded;
    },
  };
}

function compile(scope: CudaScope, ptx: string, name: string): Result<bigint, GpuRefusal> {
  const call = "cuModuleLoadDataEx";
  if (ptx.trim() === "") {
    return err(refusal(call, CUDA_ERROR_INVALID_PTX, `${name} is empty; give it PTX text`));
  }
  const nul = ptx.indexOf("\0");
  if (nul >= 0) {
    // The driver would take what is before it for the whole.
    const line = ptx.slice(0, nul).split("\n").length;
    const message = `${name}:${line}: a NUL character; PTX is plain text`;
    return err(refusal(call, CUDA_ERROR_INVALID_PTX, message));
  }
  const { code, module, log } = loadPtx(scope.activate(), ptx);
  const said = log.trim().replaceAll(/\s*\n\s*/g, "; ");
  const explain = (): string => explainLoad(code, ptx, name) + (said && `; it says: ${said}`);
  const loaded = attempt(call, code, explain);
  return loaded.ok ? ok(module) : loaded;
}

/** What to do about a module that did not load. */
function explainLoad(code: number, ptx: string, name: string): string {
  const directive = (word: string): string =>
    new RegExp(`^\\s*\\.${word}\\s+(\\S+)`, "m").exec(ptx)?.[1] ?? "(none)";
  switch (code) {
    case 2:
      return `${name} needs more memory than is free`;
    case 209:
      return `${name} is for .target ${directive("target")}, newer than this device`;
    case 221:
    case 223:
      return (
        `${name} needs the driver's PTX compiler: install libnvidia-ptxjitcompiler, ` +
        `and unset CUDA_DISABLE_PTX_JIT`
      );
    case 222:
      return (
        `${name} is PTX ISA ${directive("version")}, newer than this driver takes; ` +
        `update the driver or lower .version`
      );
    default:
      return `${name} is no PTX that this driver takes`;
  }
}

type OpenModule = {
  readonly scope: CudaScope;
  readonly module: bigint;
  readonly name: string;
  readonly kernels: WeakMap<GpuKernel, LoadedKernel>;
};

function openModule(
  { scope, module, name, kernels }: OpenModule,
  signatures: readonly GpuKernel[],
): GpuModule {
  const byName = new Map(signatures.map((signature) => [signature.name, signature]));
  const release = once(`module ${name}`, () => {
    scope.release("cuModuleUnload", (libcuda) => libcuda.cuModuleUnload(module));
  });
  return {
    name,
    kernelNames: signatures.map((signature) => signature.name),
    kernel: (kernelName) => {
      invariant(!release.isDone(), `module ${name} is still loaded`);
      const signature = byName.get(kernelName);
      if (signature === undefined) {
        const names = [...byName.keys()].join(", ");
        const message = `${name} holds no kernel ${kernelName}; it holds ${names}`;
        return err(refusal("cuModuleGetFunction", CUDA_ERROR_NOT_FOUND, message));
      }
      if (!kernels.has(signature)) {
        const loaded = findKernel(scope.activate(), module, signature);
        if (!loaded.ok) return loaded;
        kernels.set(signature, { ...loaded.value, isUnloaded: release.isDone });
      }
      return ok(signature);
    },
    unload: release.run,
  };
}

function findKernel(
  libcuda: Libcuda,
  module: bigint,
  kernel: GpuKernel,
): Result<Omit<LoadedKernel, "isUnloaded">, GpuRefusal> {
  const code = libcuda.cuModuleGetFunction(out.long, module, kernel.name);
  const found = attempt("cuModuleGetFunction", code, () => `the driver finds no ${kernel.name}`);
  if (!found.ok) return found;
  const handle = outLong();
  checkSignature(libcuda, handle, kernel);
  const attribute = FUNCTION_ATTRIBUTE.sharedSizeBytes;
  check("cuFuncGetAttribute", libcuda.cuFuncGetAttribute(out.int, attribute, handle));
  return ok({
    function: handle,
    parameters: makeKernelParameters(kernel),
    staticSharedBytes: outInt(),
    allowedSharedBytes: 0,
  });
}

/**
 * Where the driver tells a kernel's layout, our reading of the text must agree: a launch with
 * another layout would hand the kernel wild pointers.
 */
function checkSignature(libcuda: Libcuda, handle: bigint, kernel: GpuKernel): void {
  const { cuFuncGetParamInfo } = libcuda;
  if (cuFuncGetParamInfo === null) return;
  for (const [index, { offset, bytes }] of kernel.parameters.entries()) {
    const code = cuFuncGetParamInfo(handle, BigInt(index), out.long, out.otherLong);
    check("cuFuncGetParamInfo", code);
    invariant(
      outSize() === offset && outOtherSize() === bytes,
      `parameter ${index} of ${kernel.name} is ${bytes} bytes at ${offset} in the text, ` +
        `${outOtherSize()} at ${outSize()} for the driver`,
    );
  }
  const count = BigInt(kernel.parameters.length);
  const isMore = cuFuncGetParamInfo(handle, count, out.long, out.otherLong) === 0;
  invariant(!isMore, `${kernel.name} has ${count} parameters in the text, more for the driver`);
}
