export { openSoftGpu } from "./open-soft-gpu.ts";
export type { SoftGpuOptions } from "./soft-gpu.ts";
export type { InjectedFault } from "./wrong-element.ts";
