export { openCudaGpu, type CudaOptions } from "./cuda-gpu.ts";
export { CUDA_SUCCESS, errorNameOf } from "./error-codes.ts";
export { LIBCUDA_PATHS } from "./libcuda-ffi.ts";
export {
  CUDA_ERROR_STUB_LIBRARY,
  reportLibcuda,
  reportLibcudaFile,
  type LibcudaReport,
  type ReportedDevice,
} from "./libcuda-report.ts";
export { mendOf } from "./mends.ts";
