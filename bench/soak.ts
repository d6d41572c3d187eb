/**
 * Memory is given back: thousands of `work`/`read` cycles through a real owner leave the memory of
 * the owner, of its die hosts and of the device flat, and every read says PASS.
 *
 *   node dist/bench/soak.js [--cycles 10000] [--backend soft] [--slot direct] [--dies 2] [--json]
 *
 * Exit code 1 where a read was not right, or memory grew.
 */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../bin/holdfast.js", import.meta.url));

/** What one sample saw; memory in MiB. */
type Sample = {
  readonly cycles: number;
  readonly ownerMiB: number;
  readonly hostsMiB: number;
  readonly deviceFreeMiB: number;
  readonly passes: number;
};

/** Memory may move this much between the second quarter and the last and still be called flat. */
const GROWTH_MIB_MAX = 24;

const { values: flags } = parseArgs({
  options: {
    cycles: { type: "string", default: "10000" },
    backend: { type: "string", default: "soft" },
    slot: { type: "string", default: "direct" },
    dies: { type: "string", default: "2" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (flags.help) {
  process.stdout.write(
    "usage: node dist/bench/soak.js [--cycles 10000] [--backend soft] [--slot direct] [--dies 2] " +
      "[--json]\nMemory stays flat over thousands of work and read cycles.\n",
  );
  process.exit(0);
}

const MIB = 1024 * 1024;

/** Resident memory of a process, from the kernel's own account; 0 once it is gone. */
function residentMiB(pid: number): number {
  try {
    const text = readFileSync(`/proc/${String(pid)}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(text)?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** Sends commands and hands out the answer's line. Every answer's line begins with its command. */
function createAsker(owner: ChildProcessWithoutNullStreams): (command: string) => Promise<string> {
  let waiting: { readonly word: string; readonly take: (line: string) => void } | null = null;
  createInterface({ input: owner.stdout }).on("line", (line) => {
    const text = line.replace(/^\[[^\]]*\] /, "");
    if (waiting === null || !text.startsWith(waiting.word)) return;
    const { take } = waiting;
    waiting = null;
    take(text);
  });
  return (command) =>
    new Promise((take) => {
      const [name = ""] = command.split(" ");
      waiting = { word: name === "status" ? "status:" : command.split(" ", 2).join(" "), take };
      owner.stdin.write(`${command}\n`);
    });
}

/** The status lines of all dies: `status:` answers first, and the dies follow it. */
function createDieLines(owner: ChildProcessWithoutNullStreams): () => readonly string[] {
  const latest = new Map<string, string>();
  createInterface({ input: owner.stdout }).on("line", (line) => {
    const [, die] = /^\[[^\]]*\] +die +(\d+): online=/.exec(line) ?? [];
    if (die !== undefined) latest.set(die, line);
  });
  return () => [...latest.values()];
}

const numberOf = (line: string, key: string): number =>
  Number(new RegExp(`${key}=(\\d+)`).exec(line)?.[1] ?? 0);

async function soak(cycles: number, dies: number): Promise<readonly Sample[]> {
  const args = ["owner", "--backend", flags.backend, "--slot", flags.slot, "--dies", String(dies)];
  const owner = spawn(process.execPath, [PROGRAM, ...args], { stdio: "pipe" });
  owner.stderr.pipe(process.stderr);
  const ask = createAsker(owner);
  const dieLines = createDieLines(owner);
  for (let die = 0; die < dies; die++) {
    const answer = await ask(`online ${String(die)}`);
    if (!answer.includes(": OK")) throw new Error(answer);
  }
  const samples: Sample[] = [];
  const every = Math.max(1, Math.floor(cycles / 40));
  let passes = 0;
  for (let cycle = 1; cycle <= cycles; cycle++) {
    const die = cycle % dies;
    await ask(`work ${String(die)} ${String(cycle)} ${String(cycle % 7)}`);
    if ((await ask(`read ${String(die)}`)).includes("PASS")) passes += 1;
    if (cycle % every !== 0) continue;
    await ask("status");
    await ask("count");
    const lines = dieLines();
    const hosts = new Set(lines.map((line) => numberOf(line, "host_pid")));
    samples.push({
      cycles: cycle,
      ownerMiB: residentMiB(owner.pid ?? 0),
      hostsMiB: [...hosts].reduce((sum, pid) => sum + residentMiB(pid), 0),
      deviceFreeMiB: Math.min(...lines.map((line) => numberOf(line, "mem_free") / MIB)),
      passes,
    });
    if (!flags.json) process.stdout.write(`${rowOf(samples.at(-1))}\n`);
  }
  owner.stdin.end("quit\n");
  await new Promise((resolve) => owner.once("close", resolve));
  return samples;
}

const rowOf = (sample: Sample | undefined): string =>
  sample === undefined
    ? ""
    : [sample.cycles, sample.passes, sample.ownerMiB, sample.hostsMiB, sample.deviceFreeMiB]
        .map((value) => value.toFixed(0).padStart(10))
        .join("");

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Growth from the second quarter to the last: the first quarter is when caches fill. */
function growthOf(samples: readonly Sample[], value: (sample: Sample) => number): number {
  const quarter = Math.floor(samples.length / 4);
  const before = samples.slice(quarter, 2 * quarter).map(value);
  const after = samples.slice(-quarter).map(value);
  return median(after) - median(before);
}

const cycles = Number(flags.cycles);
if (!flags.json) process.stdout.write("    cycles    passes owner_MiB hosts_MiB  free_MiB\n");
const samples = await soak(cycles, Number(flags.dies));
const growthMiB = {
  owner: growthOf(samples, ({ ownerMiB }) => ownerMiB),
  hosts: growthOf(samples, ({ hostsMiB }) => hostsMiB),
  device: -growthOf(samples, ({ deviceFreeMiB }) => deviceFreeMiB),
};
const isRight = samples.at(-1)?.passes === samples.at(-1)?.cycles;
const isFlat = Object.values(growthMiB).every((growth) => growth <= GROWTH_MIB_MAX);
const verdict = `reads right: ${String(isRight)}; flat: ${String(isFlat)}`;
process.stdout.write(
  flags.json
    ? `${JSON.stringify({ flags, growthMiB, isRight, isFlat, samples })}\n`
    : `growth MiB: ${JSON.stringify(growthMiB)}; ${verdict}\n`,
);
process.exitCode = isRight && isFlat ? 0 : 1;
