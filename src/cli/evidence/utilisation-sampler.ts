/** How busy the device is, again and again, while something else runs. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { exitOf } from "./child-program.ts";

/** Between two samples. */
export const SAMPLE_MS = 100;

export type Utilisation = {
  /** What was sampled, in words. */
  readonly source: string;
  /** Percent, first to last. */
  readonly samples: readonly number[];
};

/** Running; `stop` ends it and gives what it saw. */
export type Sampler = { readonly stop: () => Promise<Utilisation> };

/** nvidia-smi's own number of the GPU at that PCI address; null where there is no nvidia-smi. */
export async function sampleGpu(address: string): Promise<Sampler | null> {
  const words = [
    `--query-gpu=utilization.gpu`,
    "--format=csv,noheader,nounits",
    `--id=${address}`,
    `--loop-ms=${SAMPLE_MS}`,
  ];
  const child = spawn("nvidia-smi", words, { stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const exit = exitOf(child);
  const first = new Promise<"began">((resolve) =>
    child.stdout.once("data", () => resolve("began")),
  );
  // It ends at once where it does not know the GPU.
  if ((await Promise.race([first, exit])) !== "began") return null;
  return {
    stop: async () => {
      child.kill();
      await exit;
      const samples = text.split("\n").filter((line) => /^\s*\d+\s*$/.test(line));
      const source = `nvidia-smi utilization.gpu of ${address}, every ${SAMPLE_MS} ms`;
      return { source, samples: samples.map(Number) };
    },
  };
}

/** Linux counts a process's time in hundredths of a second. */
const TICK_MS = 10;

/** CPU time of processes, children that ended not counted, as a share of all cores. */
export function sampleProcesses(processes: readonly number[]): Sampler {
  const samples: number[] = [];
  let [lastMs, lastTicks] = [performance.now(), ticksOf(processes)];
  const timer = setInterval(() => {
    const [nowMs, nowTicks] = [performance.now(), ticksOf(processes)];
    const busyMs = (nowTicks - lastTicks) * TICK_MS;
    samples.push(Math.min(100, (100 * busyMs) / (nowMs - lastMs) / availableParallelism()));
    [lastMs, lastTicks] = [nowMs, nowTicks];
  }, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      const cores = availableParallelism();
      const source =
        `no nvidia-smi here, so: CPU time of this process and its die hosts, as a share of ` +
        `${cores} cores, every ${SAMPLE_MS} ms`;
      return Promise.resolve({ source, samples });
    },
  };
}

const ticksOf = (processes: readonly number[]): number =>
  processes.reduce((sum, process) => sum + processTicks(process), 0);

/** User and system time of a process; 0 where it is gone. */
function processTicks(process: number): number {
  try {
    const text = readFileSync(`/proc/${process}/stat`, "utf8");
    // The name before the state may hold anything, blanks included; utime and stime are fields 14
    // and 15 of proc(5), and the state is field 3.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return 0;
  }
}

/** Samples as rows of twenty, and what is to be told of them. */
export function utilisationText({ source, samples }: Utilisation): string {
  const busy = samples.filter((sample) => sample > 0).length;
  const mean = samples.reduce((sum, sample) => sum + sample, 0) / Math.max(1, samples.length);
  const rows = Array.from({ length: Math.ceil(samples.length / ROW) }, (_, row) =>
    samples
      .slice(row * ROW, (row + 1) * ROW)
      .map((sample) => sample.toFixed(0).padStart(3))
      .join(" "),
  );
  return [
    source,
    ...rows,
    `${busy} of ${samples.length} samples above 0 %, at most ` +
      `${Math.max(0, ...samples).toFixed(0)} %, ${mean.toFixed(1)} % on average`,
  ].join("\n");
}

/** Samples in a row of text. */
const ROW = 20;
