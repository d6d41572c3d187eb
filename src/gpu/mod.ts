export { GpuError, type GpuRefusal, type GpuRefusalCode } from "./error.ts";
export type {
  BackendName,
  DeviceBuffer,
  DeviceInfo,
  DeviceRange,
  Dim3,
  Gpu,
  GpuContext,
  GpuEvent,
  GpuKernel,
  GpuModule,
  HostBuffer,
  KernelParameter,
  Launch,
  Stream,
} from "./gpu.ts";
