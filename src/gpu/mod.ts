export {
  CATALOGUE,
  catalogueKernel,
  catalogueOperation,
  launchShape,
  SUM_BLOCKS_MAX,
  type CatalogueKernel,
  type CatalogueName,
  type CatalogueParameter,
} from "./catalogue.ts";
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
export {
  CALM_CONDUCT,
  createModelGpu,
  MODEL_DEVICE,
  outOfMemory,
  type ModelConduct,
  type ModelContextView,
  type ModelDevice,
  type ModelWork,
} from "./model-gpu.ts";
export {
  compareMail,
  compareVadd,
  compareVaddMutated,
  createTally,
  slowAddComparer,
  sumOn,
  sumWideOn,
  type ChunkComparer,
  type OutputTally,
} from "./output-tally.ts";
export {
  packParameters,
  type KernelArgument,
  type ParameterError,
  type ParameterErrorCode,
  type ScalarType,
} from "./parameters.ts";
export {
  SEED_PATTERN_VALUE_MAX,
  seedPattern,
  seedValue,
  selfTestA,
  selfTestB,
  WORK_BLOCK_THREADS,
  WORK_ELEMENTS,
} from "./pattern.ts";
export {
  addOnes,
  PROBE_THREADS,
  referenceMail,
  referenceProbe,
  referenceSlowAdd,
  referenceSumF64,
  referenceVadd,
  referenceVaddMutated,
} from "./reference.ts";
export { SAMPLE_PAGE_ELEMENTS, sampleCount, samplePages } from "./sample-pages.ts";
export type { ReadSignatures } from "./signature.ts";
export { checksumF64, compareF32, compareU32, type Comparison, type Mismatch } from "./verify.ts";
export { waitUntilIdle, waitUntilReached, type WaitOptions, type WaitOutcome } from "./wait.ts";
