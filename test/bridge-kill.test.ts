// kill -9 at any moment: no job is lost, none is run again whose done record was written, and no
// half-written output stands behind a done record.
//
// 200 rounds over dies in the daemon's own process, since there a job takes as long as what can be
// torn (output, state, done record, line) and so a kill at random mostly falls into that; then some
// rounds with the real owner, its die host and the software GPU, where a round takes ten times as
// long. HOLDFAST_SEED replays when kills come; HOLDFAST_KILL_ROUNDS sets how many.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, type Stats } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { doneIn, MEMORY_FOLDER, place, recordV2, testFolder } from "../src/bridge/testing.ts";
import { STATUS } from "../src/records/mod.ts";

const MAIN = fileURLToPath(new URL("bridge-kill-main.js", import.meta.url));

const SEED = Number(process.env["HOLDFAST_SEED"] ?? Date.now() % 2 ** 31);
const ROUNDS = Number(process.env["HOLDFAST_KILL_ROUNDS"] ?? 200);
const ROUNDS_SOFT = Math.ceil(ROUNDS / 10);

/** Longest wait for a done record: a loaded machine is slow to start a process. */
const WAIT_MS_MAX = 30_000;

/** Sizes of jobs, in elements: one page, some, and enough for a write to be cut off. */
const SIZES = [16, 1000, 65_536];

function createRandom(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** The words of a job; each tells its job and its place. */
const wordsOf = (seq: number): Uint8Array => {
  const n = SIZES[seq % SIZES.length] ?? 1;
  return new Uint8Array(
    Uint32Array.from({ length: n }, (_, index) => seq * 2 ** 17 + index).buffer,
  );
};

/** A mailbox, the producer that uses it, and the daemons that serve it one after the other. */
class KillSite {
  readonly folder: string;
  readonly box: string;
  readonly mode: string;
  /** The job that was posted last; 0: none yet. */
  posted = 0;
  daemon: ChildProcess | null = null;

  constructor(context: TestContext, mode: string) {
    this.folder = testFolder(context, MEMORY_FOLDER);
    this.box = join(this.folder, "box");
    this.mode = mode;
    mkdirSync(this.box);
    context.after(() => this.daemon?.kill("SIGKILL"));
  }

  start(): void {
    const words = [MAIN, this.folder, this.mode];
    this.daemon = spawn(process.execPath, ["--enable-source-maps", ...words], { stdio: "inherit" });
  }

  async kill(): Promise<void> {
    const { daemon } = this;
    assert.ok(daemon !== null);
    const exit = once(daemon, "exit");
    daemon.kill("SIGKILL");
    const [code, signal] = (await exit) as [number | null, string | null];
    assert.equal(signal, "SIGKILL", `the daemon ended by itself with ${String(code)}`);
  }

  post(): void {
    this.posted += 1;
    const words = wordsOf(this.posted);
    const bytes = BigInt(words.length);
    place(join(this.box, "in"), words);
    const sizes = { n: bytes / 4n, inBytes: bytes, outBytes: bytes };
    place(join(this.box, "job"), recordV2({ seq: BigInt(this.posted), ...sizes }));
  }

  /** The number in the done record; 0 where there is no done record. */
  done(): number {
    // Looked for first: it may appear in between, and whatever is there is whole.
    const isThere = existsSync(join(this.box, "done"));
    const done = doneIn(this.box);
    if (isThere) assert.ok(done !== null);
    if (done !== null) assert.equal(done.status, STATUS.ok);
    return Number(done?.seq ?? 0n);
  }

  /** Until the last job is answered by a done record that is another file than `before`. */
  async untilAnswered(before: number): Promise<void> {
    const endMs = performance.now() + WAIT_MS_MAX;
    while (this.done() < this.posted || this.doneFile() === before) {
      assert.ok(performance.now() < endMs, `job ${String(this.posted)} was lost: ${this.log()}`);
      await sleep(1);
    }
  }

  /** Which file the done record is: another one each time that it is written. */
  doneFile(): number {
    return statSync(join(this.box, "done"), { throwIfNoEntry: false })?.ino ?? 0;
  }

  /** What changes when the daemon writes its output, or its state. */
  trace(of: "output" | "state"): string {
    if (of === "output") return String(statSync(join(this.box, "out")).ino);
    const folder = join(this.folder, "state", "bridges");
    const [name = ""] = readdirSync(folder).filter((file) => file.endsWith(".state"));
    return readFileSync(join(folder, name), "hex");
  }

  log(): string {
    return this.#linesOf("log").slice(-20).join("; ");
  }

  /** The jobs that were run, in order of beginning. */
  executions(): readonly number[] {
    return this.#linesOf("executions").map(Number);
  }

  /** The jobs that a line was printed for. */
  printed(): readonly number[] {
    return this.#linesOf("lines").map((line) => Number(/^CUBB2 seq=(\d+) /.exec(line)?.[1]));
  }

  #linesOf(name: string): readonly string[] {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  }
}

/**
 * When a kill comes: after a time of chance, or as soon as the output or the state of the last job
 * is seen, so that kills fall into the short times between those and the done record as well.
 */
type Moment = { readonly at: "time" | "output" | "state"; readonly lifeMs: number };

const MOMENTS = ["time", "time", "output", "state"] as const;

/** Posts job after job for a while, and then kills the daemon. */
async function killUnderLoad(site: KillSite, { at, lifeMs }: Moment): Promise<void> {
  const endMs = performance.now() + lifeMs;
  while (performance.now() < endMs) {
    site.post();
    while (site.done() < site.posted && performance.now() < endMs) await setImmediate();
  }
  if (at !== "time") {
    await site.untilAnswered(0);
    const before = site.trace(at);
    site.post();
    const lastMs = performance.now() + WAIT_MS_MAX;
    // Without a pause: what is waited for lasts for some microseconds.
    while (site.trace(at) === before && performance.now() < lastMs) continue;
  }
  await site.kill();
}

/** What a kill left behind. */
type Remains = {
  readonly done: number;
  readonly doneFile: number;
  readonly executions: number;
  readonly out: Stats;
  /** How far the last job had come. */
  readonly stage: "not begun" | "no output yet" | "output, no done record" | "answered";
};

/** What must hold between a kill and the next start. */
function checkRemains(site: KillSite): Remains {
  const done = site.done();
  assert.ok(done === site.posted || done === site.posted - 1, "the last job, or the one before");
  const path = join(site.box, "out");
  const out = readFileSync(path);
  const isNewer = done < site.posted && out.equals(wordsOf(site.posted));
  assert.ok(isNewer || out.equals(wordsOf(done)), "out is whole, and of the job or its successor");
  const executions = site.executions();
  const isBegun = executions.at(-1) === site.posted;
  const begun = isNewer ? "output, no done record" : isBegun ? "no output yet" : "not begun";
  return {
    done,
    doneFile: site.doneFile(),
    executions: executions.length,
    out: statSync(path),
    stage: done === site.posted ? "answered" : begun,
  };
}

/** What must hold once the next daemon has answered. */
function checkRecovery(site: KillSite, { done, executions, out }: Remains): void {
  const isAnswered = done === site.posted;
  const more = site.executions().slice(executions);
  assert.deepEqual(more, isAnswered ? [] : [site.posted], `job ${String(site.posted)}`);
  const now = statSync(join(site.box, "out"));
  if (isAnswered) assert.deepEqual([now.ino, now.mtimeMs], [out.ino, out.mtimeMs]);
  assert.ok(readFileSync(join(site.box, "out")).equals(wordsOf(site.posted)));
}

/** Runs the rounds; how many kills fell into each stage of a job. */
async function runRounds(
  site: KillSite,
  rounds: number,
  moment: (round: number) => Moment,
): Promise<Readonly<Record<Remains["stage"], number>>> {
  const stages = { "not begun": 0, "no output yet": 0, "output, no done record": 0, answered: 0 };
  site.start();
  site.post();
  await site.untilAnswered(0);
  for (let round = 0; round < rounds; round++) {
    await killUnderLoad(site, moment(round));
    const remains = checkRemains(site);
    stages[remains.stage] += 1;
    site.start();
    // It answers the job that it finds, for the first time or again.
    await site.untilAnswered(remains.doneFile);
    checkRecovery(site, remains);
  }
  await site.kill();
  const printed = site.printed();
  assert.equal(new Set(printed).size, printed.length, "one line a job at most");
  const executed = new Set(site.executions());
  for (let seq = 1; seq <= site.posted; seq++) assert.ok(executed.has(seq), `job ${String(seq)}`);
  return stages;
}

for (const [mode, rounds, lifeMsMax] of [
  ["fast", ROUNDS, 40],
  ["soft", ROUNDS_SOFT, 100],
] as const) {
  const name = `${mode} dies: ${String(rounds)} rounds of kill -9 (HOLDFAST_SEED=${String(SEED)})`;
  test(name, { timeout: 300_000 }, async (context) => {
    const random = createRandom(SEED);
    const site = new KillSite(context, mode);
    const stages = await runRounds(site, rounds, (round) => ({
      at: MOMENTS[round % MOMENTS.length] ?? "time",
      lifeMs: random() * lifeMsMax,
    }));
    context.diagnostic(`${String(site.posted)} jobs; kills by stage: ${JSON.stringify(stages)}`);
    const isTelling = stages.answered < rounds || rounds < 10;
    assert.ok(isTelling, "kills fell between jobs only, and showed nothing");
  });
}
