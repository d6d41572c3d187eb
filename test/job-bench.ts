/**
 * Jobs in a die host in this process, over the real backend: the software GPU, or with
 * HOLDFAST_TEST_BACKEND=cuda the GPU that is here.
 */
import { ok } from "../src/base/mod.ts";
import { openCudaGpu } from "../src/gpu-cuda/mod.ts";
import { openSoftGpu, type InjectedFault } from "../src/gpu-soft/mod.ts";
import type { Job, JobResult } from "../src/owner/mod.ts";
import { openJobBench } from "../src/owner/testing.ts";
import { formatDiagnostic, readSignatures } from "../src/ptx/mod.ts";

export const BACKEND = process.env["HOLDFAST_TEST_BACKEND"] ?? "soft";

type OpenGpu = Parameters<typeof openJobBench>[0];

const openGpu: OpenGpu = () => {
  if (BACKEND === "soft") return openSoft();
  const gpu = openCudaGpu({
    readSignatures: (ptx, fileName) => {
      const signatures = readSignatures(ptx, fileName);
      if (signatures.ok) return signatures;
      return { ok: false, error: { message: formatDiagnostic(signatures.error) } };
    },
  });
  return gpu.ok ? ok({ gpu: gpu.value, note: null }) : gpu;
};

const openSoft = (fault: InjectedFault | null = null): ReturnType<OpenGpu> =>
  ok({ gpu: openSoftGpu({ devices: 1, fault }), note: null });

export type JobBench = { readonly run: (job: Job) => Promise<JobResult> };

/** A die of the software GPU that computes wrongly. */
export const openFaultyBench = (fault: InjectedFault): Promise<JobBench> =>
  openJobBench(() => openSoft(fault));

/** A die that runs jobs, one after the other. */
export const openRealBench = (): Promise<JobBench> => openJobBench(openGpu);
