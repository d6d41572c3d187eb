/** What the bench measures. */
import type { LoadReport } from "./bench-load.ts";
import type { SwapRound } from "./bench-swap.ts";
import type { StressReport } from "./bench-stress.ts";
import type { Quantiles } from "./quantiles.ts";

export type CpuReport = { readonly elements: number; readonly timeNs: Quantiles };

export type BenchReport = {
  readonly device: string;
  readonly dies: number;
  readonly cpu: string;
  readonly cores: number;
  readonly producerPauseMs: number;
  readonly rounds: readonly LoadReport[];
  readonly cpuBaseline: readonly CpuReport[];
  /** Null on a slot where every die is mapped: nothing moves. */
  readonly swap: SwapRound | null;
  /** Null without --big-iters. */
  readonly stress: StressReport | null;
};
