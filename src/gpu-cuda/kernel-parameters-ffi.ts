/** A kernel's parameters as cuLaunchKernel takes them: an array of addresses, one a parameter. */
import { addressOf, invariant } from "../base/mod.ts";
import type { GpuKernel } from "../gpu/mod.ts";

/**
 * One place for a kernel's parameters, made once and filled for each launch, which copies them.
 * Both parts are ArrayBuffers of their own, so that neither moves, and live as long as this object.
 */
export type KernelParameters = {
  /** Fills the place, and gives the `void **` of the call. */
  readonly fill: (parameters: Uint8Array) => BigUint64Array;
};

export function makeKernelParameters(kernel: GpuKernel): KernelParameters {
  // A buffer of no bytes may have no address.
  const block = new Uint8Array(new ArrayBuffer(Math.max(1, kernel.parameterBytes)));
  const start = addressOf(block.buffer);
  const addresses = new BigUint64Array(new ArrayBuffer(8 * Math.max(1, kernel.parameters.length)));
  addresses.set(kernel.parameters.map(({ offset }) => start + BigInt(offset)));
  return {
    fill: (parameters) => {
      invariant(
        parameters.length === kernel.parameterBytes,
        `${kernel.name} takes a block of ${kernel.parameterBytes} bytes, not ${parameters.length}`,
      );
      block.set(parameters);
      return addresses;
    },
  };
}
