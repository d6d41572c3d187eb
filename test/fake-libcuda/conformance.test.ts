// The whole conformance suite over the CUDA backend's real code, on the fake driver.
import { test } from "node:test";
import { openCudaGpu } from "../../src/gpu-cuda/mod.ts";
import {
  childFaults,
  readSimpleSignatures,
  runConformance,
} from "../../src/gpu/conformance/mod.ts";
import { CATALOGUE_PTX } from "./catalogue-ptx.ts";
import { fakeLibcuda, fakeSkipReason } from "./fake-libcuda.ts";

// Every wait then has to ask more than once.
process.env["HOLDFAST_FAKE_BUSY"] = "2";

if (fakeSkipReason === null) {
  runConformance({
    name: "cuda on a fake driver",
    openGpu: () =>
      openCudaGpu({ libraryPath: fakeLibcuda(), readSignatures: readSimpleSignatures }),
    kernelsPtx: CATALOGUE_PTX,
    faults: childFaults(import.meta.url, process.env),
  });
} else {
  test("cuda on a fake driver", { skip: fakeSkipReason });
}
