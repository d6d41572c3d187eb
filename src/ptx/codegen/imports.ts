/**
 * What a compiled kernel imports, all under the module name `holdfast`. A kernel imports only what
 * it uses, and whoever links it offers everything.
 */

/** The imported functions: the host's clock, and the functions that wasm has no instruction for. */
export type HostFunctions = {
  /** Nanoseconds since some fixed point: %clock, %clock64 and %globaltimer. */
  readonly clock: () => bigint;
  readonly sin: (x: number) => number;
  readonly cos: (x: number) => number;
  readonly tanh: (x: number) => number;
};

export type HostFunction = keyof HostFunctions;

const HOST_FUNCTIONS: HostFunctions = {
  clock: () => BigInt(Math.round(performance.now() * 1e6)),
  sin: Math.sin,
  cos: Math.cos,
  tanh: Math.tanh,
};

/** The import object for any compiled kernel; `memory` is the device's, and shared. */
export function kernelImports(
  memory: WebAssembly.Memory,
  functions: HostFunctions = HOST_FUNCTIONS,
): WebAssembly.Imports {
  return { holdfast: { memory, ...functions } };
}
