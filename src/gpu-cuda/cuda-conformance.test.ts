// The conformance suite on a real GPU, where there is one. It needs nothing but node and the build:
//   node dist/src/gpu-cuda/cuda-conformance.test.js
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { childFaults, readSimpleSignatures, runConformance } from "../gpu/conformance/mod.ts";
import { openCudaGpu } from "./cuda-gpu.ts";

const kernelsPath = fileURLToPath(new URL("../../../kernels/base.ptx", import.meta.url));
const gpu = openCudaGpu({ readSignatures: readSimpleSignatures });

if (!gpu.ok) {
  test("cuda", { skip: gpu.error.message });
} else if (!existsSync(kernelsPath)) {
  test("cuda", { skip: `${kernelsPath} is not there` });
} else {
  runConformance({
    name: "cuda",
    openGpu: () => gpu,
    kernelsPtx: readFileSync(kernelsPath, "utf8"),
    faults: childFaults(import.meta.url, process.env),
  });
}
