export { openCudaGpu, type CudaOptions } from "./cuda-gpu.ts";
export { CUDA_SUCCESS, errorNameOf } from "./error-codes.ts";
export { LIBCUDA_PATHS } from "./libcuda-ffi.ts";
export { reportLibcuda, type LibcudaReport, type ReportedDevice } from "./libcuda-report.ts";
export { mendOf } from "./mends.ts";
