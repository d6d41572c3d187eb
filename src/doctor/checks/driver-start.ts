import { CUDA_ERROR_STUB_LIBRARY, CUDA_SUCCESS, errorNameOf, mendOf } from "../../gpu-cuda/mod.ts";
import type { Check } from "../check.ts";
import type { DieFacts, Facts } from "../facts.ts";
import { boundDies, dieText, isCounted, startedLibcuda } from "./wanted.ts";

/** A container may have been given some of the dies: it has no nodes of the others. */
const isWithheld = ({ runtime, nodes }: Facts, { minor }: DieFacts): boolean =>
  runtime.isContainer && !nodes.nodes.some(({ path }) => path === `/dev/nvidia${String(minor)}`);

/**
 * Whether the driver starts, and counts the dies that it has. Behind a window nobody tried: it is a
 * rung of the bring-up, and would open dies that are not mapped.
 */
export const driverStart: Check = {
  id: "driver-start",
  title: "the driver starts (cuInit) and counts every die it has",
  scope: "gpu",
  findings: ["driver-no-start", "die-uncounted"],
  run: (facts) => {
    const report = startedLibcuda(facts);
    if (report === null || report.initCode === CUDA_ERROR_STUB_LIBRARY) return [];
    if (report.initCode !== CUDA_SUCCESS) {
      const name = `${errorNameOf(report.initCode)} ${report.initCode}`;
      return [
        {
          id: "driver-no-start",
          severity: "problem",
          subject: "cuInit",
          message: `the driver does not start: ${name}`,
          mend: mendOf(report.initCode),
          command: "nvidia-smi; dmesg | grep -i nvrm | tail -20",
        },
      ];
    }
    if (facts.environment["CUDA_VISIBLE_DEVICES"] !== undefined) return [];
    return boundDies(facts)
      .filter((die) => !isCounted(facts, die) && !isWithheld(facts, die))
      .map((die) => ({
        id: "die-uncounted",
        severity: "problem",
        subject: die.address,
        message: `${dieText(die)} is bound to nvidia, and the driver does not count it`,
        mend: "read the driver's lines on it in the kernel's log; then unbind and bind it again",
        command: `dmesg | grep -i ${die.address.replace(/\.\d$/, "")}`,
      }));
  },
};
