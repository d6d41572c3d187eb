/** What this machine's processor takes for vadd, with our own reference loop. */
import { cpus } from "node:os";
import { referenceVadd, selfTestA, selfTestB } from "../../gpu/mod.ts";
import { quantilesOf, type Quantiles } from "./quantiles.ts";

const RUNS_MAX = 50;

/** The first runs are of code that is not compiled yet. */
const WARM_UPS = 3;

/** One core, in JavaScript: no native code, no vector instructions. In nanoseconds. */
export function measureCpuVadd(elements: number, durationMs: number): Quantiles {
  const [a, b] = [selfTestA(elements), selfTestB(elements)];
  for (let run = 0; run < WARM_UPS; run++) referenceVadd(a, b);
  const times: number[] = [];
  const endMs = performance.now() + durationMs;
  while (times.length === 0 || (times.length < RUNS_MAX && performance.now() < endMs)) {
    const startMs = performance.now();
    referenceVadd(a, b);
    times.push((performance.now() - startMs) * 1e6);
  }
  return quantilesOf(times);
}

/** As the kernel calls it. */
export const cpuName = (): string => (cpus()[0]?.model ?? "unknown processor").trim();
