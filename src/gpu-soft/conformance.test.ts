import { readFileSync } from "node:fs";
import { ok } from "../base/mod.ts";
import { runConformance } from "../gpu/conformance/mod.ts";
import { openSoftGpu } from "./open-soft-gpu.ts";

const kernelsPtx = readFileSync(new URL("../../../kernels/base.ptx", import.meta.url), "utf8");

for (const workers of [1, 3]) {
  runConformance({
    name: `software GPU, workers: ${workers}`,
    openGpu: () => ok(openSoftGpu({ devices: 2, workers, memoryBytes: 512 * 1024 * 1024 })),
    kernelsPtx,
    faults: "in-process",
  });
}
