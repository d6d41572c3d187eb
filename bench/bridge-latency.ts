/**
 * How soon the bridge sees a job, and what it costs to look: on plain files, over dies that do
 * nothing, so that what is measured is the bridge alone.
 *
 *   node dist/bench/bridge-latency.js [--jobs 2000] [--idle-ms 5000] [--mailboxes 1] [--json]
 *
 * `pick-up` is from a job file renamed into place to the daemon's asking the owner to run it;
 * `round trip` from there to the done record seen by the producer. The daemon is a process of its
 * own. Exit code 1 where a target is missed: the busy pick-up's median below 200 us, idle below 2 %
 * of a core. The tail beyond that is the machine's: timers that come late, other processes.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { systemClock } from "../src/base/mod.ts";
import { createBridge } from "../src/bridge/mod.ts";
import { createFastDies, doneIn, mailboxV2In, MEMORY_FOLDER } from "../src/bridge/testing.ts";
import { Producer } from "../test/bridge-producer.ts";

const SELF = fileURLToPath(import.meta.url);

/** The targets. */
const PICK_UP_US_MAX = 200;
const IDLE_SHARE_MAX = 0.02;

/** How long the producer waits between jobs, in milliseconds: busy, and after a rest. */
const GAPS_MS = { "back to back": 0, "1 ms apart": 1, "10 ms apart": 10, "after 1 s": 1000 };

const MAIL = 1;

const NAP_WORD = new Int32Array(new SharedArrayBuffer(4));

const { values: flags } = parseArgs({
  options: {
    jobs: { type: "string", default: "2000" },
    "idle-ms": { type: "string", default: "5000" },
    mailboxes: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
    /** This program as the daemon. */
    serve: { type: "string" },
  },
});

if (flags.help) {
  process.stdout.write(
    "usage: node dist/bench/bridge-latency.js [--jobs 2000] [--idle-ms 5000] [--mailboxes 1] " +
      "[--json]\nHow soon the bridge sees a job, and what it costs to look.\n",
  );
  process.exit(0);
}

const boxName = (index: number): string => `box${String(index)}`;

/** Nanoseconds of the machine's monotonic clock, which all its processes share. */
const nowNs = (): bigint => process.hrtime.bigint();

/** The daemon: tells each job's moment on stdout, a line a job. */
async function serve(folder: string): Promise<void> {
  const fast = createFastDies({ dies: 1 });
  const made = createBridge({
    owner: {
      discover: fast.discover,
      run: (die, job) => {
        process.stdout.write(`${job.check?.sampleSeed ?? ""} ${String(nowNs())}\n`);
        return fast.run(die, job);
      },
    },
    mailboxes: Array.from({ length: Number(flags.mailboxes) }, (_, index) =>
      mailboxV2In(join(folder, boxName(index)), { name: boxName(index) }),
    ),
    baseModule: { name: "base.ptx", path: "/base.ptx" },
    stateDirectory: join(folder, "state"),
    pollUs: null,
    clock: systemClock,
    printJobLine: () => undefined,
    log: (line) => void process.stderr.write(`${line}\n`),
  });
  if (!made.ok) throw new Error(made.error.message);
  await made.value.run();
}

/** User and system time of a process, in milliseconds (proc(5), fields 14 and 15, in 10 ms). */
function cpuMs(pid: number): number {
  const text = readFileSync(`/proc/${String(pid)}/stat`, "utf8");
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;

type Row = {
  readonly jobs: string;
  readonly count: number;
  readonly pickUpUs: readonly number[];
  readonly roundTripUs: readonly number[];
};

const SHARES = [0.5, 0.95, 0.99];

/** Posts jobs and collects when each was posted, seen and answered. */
class Meter {
  readonly producer: Producer;
  readonly seenNs = new Map<string, bigint>();

  constructor(producer: Producer, daemon: ChildProcess) {
    this.producer = producer;
    let rest = "";
    daemon.stdout?.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [seq = "", ns = "0"] = line.split(" ");
        this.seenNs.set(seq, BigInt(ns));
      }
    });
  }

  async run(jobs: string, gapMs: number, count: number): Promise<Row> {
    const { producer } = this;
    const posted = new Map<string, { readonly postNs: bigint; readonly doneNs: bigint }>();
    for (let index = 0; index < count; index++) {
      if (gapMs > 0) await sleep(gapMs);
      producer.post(MAIL, 4);
      const postNs = nowNs();
      // With a nap of some 70 us between looks: one that spins would be taken off its core, or
      // would take the daemon's, where there are few.
      while (doneIn(producer.box)?.seq !== producer.seq) Atomics.wait(NAP_WORD, 0, 0, 0.02);
      posted.set(String(producer.seq), { postNs, doneNs: nowNs() });
    }
    while ([...posted.keys()].some((seq) => !this.seenNs.has(seq))) await sleep(1);
    const rows = [...posted].map(([seq, { postNs, doneNs }]) => ({
      pickUp: Number((this.seenNs.get(seq) ?? 0n) - postNs) / 1000,
      roundTrip: Number(doneNs - postNs) / 1000,
    }));
    const sorted = (key: "pickUp" | "roundTrip"): number[] =>
      rows.map((row) => row[key]).sort((a, b) => a - b);
    const at = (values: number[]): number[] => SHARES.map((share) => quantile(values, share));
    return { jobs, count, pickUpUs: at(sorted("pickUp")), roundTripUs: at(sorted("roundTrip")) };
  }
}

async function measure(): Promise<boolean> {
  const folder = mkdtempSync(join(MEMORY_FOLDER, "holdfast-latency-"));
  const count = Number(flags.mailboxes);
  const producers = Array.from(
    { length: count },
    (_, index) => new Producer(folder, { name: boxName(index) }),
  );
  const words = [SELF, "--serve", folder, "--mailboxes", flags.mailboxes];
  const daemon = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [producer] = producers;
    if (producer === undefined || daemon.pid === undefined)
      throw new Error("no mailbox, no daemon");
    producer.write(new Uint8Array(16));
    const meter = new Meter(producer, daemon);
    // Until the code on both sides is compiled.
    await meter.run("warm-up", 0, 500);
    const rows: Row[] = [];
    for (const [name, gapMs] of Object.entries(GAPS_MS)) {
      const jobs = gapMs >= 1000 ? 5 : Math.ceil(Number(flags.jobs) / (1 + gapMs));
      rows.push(await meter.run(name, gapMs, jobs));
    }
    await sleep(1000);
    const idleMs = Number(flags["idle-ms"]);
    const before = cpuMs(daemon.pid);
    await sleep(idleMs);
    const idleShare = (cpuMs(daemon.pid) - before) / idleMs;
    return report(rows, idleShare);
  } finally {
    daemon.kill("SIGKILL");
    await once(daemon, "exit");
    rmSync(folder, { recursive: true });
  }
}

/** Prints what was measured; true where both targets are met. */
function report(rows: readonly Row[], idleShare: number): boolean {
  const busyMedian = rows[0]?.pickUpUs[0] ?? NaN;
  const isMet = busyMedian < PICK_UP_US_MAX && idleShare < IDLE_SHARE_MAX;
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ rows, idleShare, isMet })}\n`);
    return isMet;
  }
  const cells = (values: readonly number[]): string =>
    values.map((value) => value.toFixed(0).padStart(7)).join("");
  const lines = [
    `us             jobs   pick-up p50    p95    p99   round trip p50    p95    p99`,
    ...rows.map(
      ({ jobs, count, pickUpUs, roundTripUs }) =>
        `${jobs.padEnd(12)} ${String(count).padStart(6)}       ${cells(pickUpUs)}          ` +
        cells(roundTripUs),
    ),
    `idle: ${(idleShare * 100).toFixed(2)} % of a core over ${flags.mailboxes} mailboxes`,
    isMet ? "targets met" : "a target is missed",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  return isMet;
}

if (flags.serve !== undefined) await serve(flags.serve);
else process.exitCode = (await measure()) ? 0 : 1;
