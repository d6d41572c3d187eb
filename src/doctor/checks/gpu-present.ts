import type { Check } from "../check.ts";
import type { Finding } from "../finding.ts";
import { hasGpu, isGpuAsked, isGpuWithheld } from "./wanted.ts";

/** The finding that ends in the exit code for no device. */
export const NO_GPU = "no-gpu";

/** A machine without one is well: the software GPU runs there. */
export const gpuPresent: Check = {
  id: "gpu",
  title: "an NVIDIA GPU is there, and was given to this container",
  scope: "machine",
  findings: [NO_GPU, "gpu-withheld"],
  run: (facts) => {
    if (facts.asked.backend === "soft") return [];
    if (isGpuWithheld(facts)) return [withheld(isGpuAsked(facts))];
    if (hasGpu(facts) || !isGpuAsked(facts)) return [];
    const asked = facts.asked.slot === "bar_swap" ? "--slot bar_swap" : "--backend cuda";
    return [
      {
        id: NO_GPU,
        severity: "problem",
        subject: null,
        message: `no NVIDIA GPU is on the PCI bus, and ${asked} needs one`,
        mend: "check seating and power of the board, or run on the software GPU (--backend soft)",
        command: "lspci -nn -d 10de:",
      },
    ];
  },
};

const withheld = (isAsked: boolean): Finding => ({
  id: "gpu-withheld",
  severity: isAsked ? "problem" : "note",
  subject: null,
  message: "the host has a GPU, and this container was given none of its device nodes",
  mend: "start the container with the GPU passed in, or go on with the software GPU",
  command: "docker run --gpus all …",
});
