import { invariant, ok, type Result } from "../base/mod.ts";
import type { GpuKernel, GpuModule, GpuRefusal, KernelParameter } from "../gpu/mod.ts";
import { relocateData, type CompiledKernel } from "../ptx/mod.ts";
import type { Program } from "./compiler.ts";
import type { ContextCore } from "./context-core.ts";
import type { Allocation } from "./device-memory.ts";
import { refuse } from "./refusal.ts";
import type { PoolKernel } from "./worker-pool.ts";

/** A kernel that was compiled, and what its launches need to know of it. */
export class SoftKernel implements GpuKernel {
  readonly name: string;
  readonly parameters: readonly KernelParameter[];
  readonly parameterBytes: number;
  readonly module: SoftModule;
  readonly compiled: CompiledKernel;
  readonly pool: PoolKernel;
  /** Offsets of the parameters that may be addresses. */
  readonly addressOffsets: readonly number[];

  constructor(module: SoftModule, compiled: CompiledKernel, pool: PoolKernel) {
    this.name = compiled.name;
    this.parameters = compiled.parameters.map(({ type, offset, bytes }) => ({
      type,
      offset,
      bytes,
    }));
    this.parameterBytes = compiled.parameterBytes;
    this.module = module;
    this.compiled = compiled;
    this.pool = pool;
    this.addressOffsets = this.parameters
      .filter(({ type, bytes }) => bytes === 8 && !type.startsWith("f"))
      .map(({ offset }) => offset);
  }
}

/** A loaded PTX text: its data lies in device memory, its kernels are compiled when asked for. */
export class SoftModule implements GpuModule {
  readonly name: string;
  readonly core: ContextCore;
  readonly #program: Program;
  readonly #data: Allocation | null;
  readonly #kernels = new Map<string, SoftKernel>();
  #isUnloaded = false;

  private constructor(core: ContextCore, name: string, parts: ModuleParts) {
    this.name = name;
    this.core = core;
    this.#program = parts.program;
    this.#data = parts.data;
  }

  /** Puts the module's data into device memory; refused where there is no room for it. */
  static load(core: ContextCore, name: string, program: Program): Result<SoftModule, GpuRefusal> {
    const { bytes } = program.data;
    if (bytes.length === 0) return ok(new SoftModule(core, name, { program, data: null }));
    const data = core.allocate(bytes.length);
    if (data === null) {
      const message = `no room for ${name}'s ${bytes.length} bytes of variables; free some memory`;
      return refuse("out_of_memory", "cuModuleLoadDataEx", message);
    }
    core.memory.bytes.set(relocateData(program.data, BigInt(data.address)), data.address);
    return ok(new SoftModule(core, name, { program, data }));
  }

  get kernelNames(): readonly string[] {
    return this.#program.kernelNames;
  }

  get isUnloaded(): boolean {
    return this.#isUnloaded;
  }

  /** Address of the module's `.global` and `.const` variables; 0 where it has none. */
  get dataAddress(): number {
    return this.#data?.address ?? 0;
  }

  kernel = (name: string): Result<GpuKernel, GpuRefusal> => {
    const call = "cuModuleGetFunction";
    this.core.check(call);
    invariant(!this.#isUnloaded, `module ${this.name} is still loaded`);
    const known = this.#kernels.get(name);
    if (known !== undefined) return ok(known);
    if (!this.kernelNames.includes(name)) {
      const names = this.kernelNames.join(", ");
      return refuse(
        "kernel_not_found",
        call,
        `${this.name} has no kernel ${name}; it has: ${names}`,
      );
    }
    const compiled = this.#program.compile(name);
    if (!compiled.ok) return compiled;
    const pool = {
      id: this.core.nextKernelId(),
      module: new WebAssembly.Module(compiled.value.wasm),
    };
    const kernel = new SoftKernel(this, compiled.value, pool);
    this.#kernels.set(name, kernel);
    return ok(kernel);
  };

  /** What is queued still runs; the memory is freed after that. */
  unload = (): void => {
    invariant(!this.#isUnloaded, `module ${this.name} is unloaded once`);
    this.#isUnloaded = true;
    if (this.core.isClosed) return;
    const ids = [...this.#kernels.values()].map(({ pool }) => pool.id);
    this.core.scheduler.afterQueued(() => {
      for (const id of ids) this.core.executor.drop(id);
    });
    if (this.#data !== null) this.core.free(this.#data);
  };
}

type ModuleParts = { readonly program: Program; readonly data: Allocation | null };
