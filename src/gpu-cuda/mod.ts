export { openCudaGpu, type CudaOptions } from "./cuda-gpu.ts";
