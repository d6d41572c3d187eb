import type { Check } from "../check.ts";
import { loadedLibcuda } from "./wanted.ts";

/** The base payload, kernels/base.ptx, is of PTX ISA 4.2: CUDA 7.0 and newer take it. */
const BASE_CUDA = 7000;

/** cuDriverGetVersion's number and the newest PTX ISA of that release, from the PTX manual. */
const PTX_ISAS: readonly (readonly [number, string])[] = [
  ...([[13000, "9.0"]] as const),
  ...([
    [12090, "8.8"],
    [12080, "8.7"],
    [12070, "8.6"],
    [12050, "8.5"],
    [12040, "8.4"],
  ] as const),
  ...([
    [12030, "8.3"],
    [12020, "8.2"],
    [12010, "8.1"],
    [12000, "8.0"],
  ] as const),
  ...([
    [11080, "7.8"],
    [11070, "7.7"],
    [11060, "7.6"],
    [11050, "7.5"],
    [11040, "7.4"],
  ] as const),
  ...([
    [11030, "7.3"],
    [11020, "7.2"],
    [11010, "7.1"],
    [11000, "7.0"],
  ] as const),
  ...([
    [10020, "6.5"],
    [10010, "6.4"],
    [10000, "6.3"],
    [9020, "6.2"],
    [9010, "6.1"],
  ] as const),
  ...([
    [9000, "6.0"],
    [8000, "5.0"],
    [7050, "4.3"],
    [7000, "4.2"],
  ] as const),
];

/** The newest PTX that a driver of this CUDA version takes, at least; null before CUDA 7.0. */
export const newestPtxIsa = (cudaVersion: number): string | null =>
  PTX_ISAS.find(([version]) => version <= cudaVersion)?.[1] ?? null;

export const cudaText = (version: number): string =>
  `CUDA ${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;

/** Whether the driver takes the PTX that we ship. */
export const ptx: Check = {
  id: "ptx",
  title: "the driver takes the base payload's PTX (ISA 4.2)",
  scope: "gpu",
  findings: ["ptx-too-new"],
  run: (facts) => {
    const version = loadedLibcuda(facts)?.cudaVersion ?? null;
    if (version === null || version === 0 || version >= BASE_CUDA) return [];
    return [
      {
        id: "ptx-too-new",
        severity: "problem",
        subject: "kernels/base.ptx",
        message:
          `this driver is ${cudaText(version)}; the base payload's PTX (ISA 4.2) needs ` +
          `CUDA 7.0`,
        mend: "install driver R470 (CUDA 11.4) or newer",
        command: "nvidia-smi",
      },
    ];
  },
};
