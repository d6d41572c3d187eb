/** `holdfast ladder` over the board: killed in each rung, told by the doctor, climbed to its end. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, watch } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  createRecordedProber,
  diagnose,
  gatherFacts,
  type Diagnosis,
  type Finding,
} from "../../../src/doctor/mod.ts";
import {
  BRING_UP_STEPS,
  parseJournal,
  type BringUpStep,
  type JournalLine,
} from "../../../src/owner/mod.ts";
import {
  addressOf,
  DIES,
  driversOfAll,
  loadBoard,
  resetBoard,
  unloadBoard,
} from "./board-module.ts";
import { GuestCommand } from "./guest-command.ts";
import { ALL_DIES } from "./own-board.ts";

const STATE = "/tmp/board-ladder";

/** What a run with `--json` prints, as far as it is looked at. */
type Report = {
  readonly outcome: string;
  readonly online: readonly number[];
  readonly rows: readonly {
    readonly die: number;
    readonly address: string;
    readonly step: BringUpStep;
    readonly outcome: string;
    readonly detail: string;
  }[];
};

const ladder = (backend: "cuda" | "soft", ...flags: string[]): GuestCommand =>
  new GuestCommand([
    ...["ladder", "--slot", "bar_swap", "--backend", backend, "--state-dir", STATE, ...flags],
  ]);

function reportOf(command: GuestCommand): Report {
  return JSON.parse(command.output.join("\n")) as Report;
}

const journal = (): readonly JournalLine[] =>
  parseJournal(readFileSync(join(STATE, "bring-up.journal"), { encoding: "utf8", flag: "a+" }));

export function registerLadderTests(): void {
  before(makeState);
  after(resetBoard);
  registerDriverlessTest();
}

function makeState(): void {
  rmSync(STATE, { recursive: true, force: true });
  mkdirSync(STATE, { recursive: true });
}

function registerDriverlessTest(): void {
  test("ladder: without NVIDIA's library it climbs to the rung that needs it, on each die", async () => {
    const command = ladder("cuda", "--json");
    assert.equal(await command.end(), 3, command.errors.join("\n"));
    const { rows, outcome } = reportOf(command);
    assert.equal(outcome, "failed");
    const climbed = (die: number): string[] =>
      rows.filter((row) => row.die === die).map((row) => `${row.step} ${row.outcome}`);
    const first = ["discover", "acquire", "block-all-except", "load-driver"];
    assert.deepEqual(climbed(0), [...first.map((step) => `${step} done`), "initialise refused"]);
    for (const die of ALL_DIES.slice(1)) {
      const further = ["acquire done", "unblock done", "bind done", "initialise refused"];
      assert.deepEqual(climbed(die), further);
    }
    for (const row of rows.filter(({ step }) => step === "initialise")) {
      assert.match(row.detail, /libcuda\.so\.1/);
      assert.equal(row.address, addressOf(row.die));
    }
    assert.deepEqual(driversOfAll(), ["nvidia", "nvidia", "nvidia", "nvidia"]);
  });
}

/** Dies of the ladder that is killed: the first, and one that is brought up beside it. */
const LADDER_DIES = 2;

/**
 * Where it is killed, one run after the other, so that each run climbs over the rung in which the
 * one before it ended. Where no die host is needed, none is started: `cuda` ends without one.
 */
type Kills = readonly {
  readonly backend: "cuda" | "soft";
  readonly die: number;
  readonly steps: readonly BringUpStep[];
}[];

const EVERY_KILL: Kills = [
  { backend: "cuda", die: 0, steps: ["discover", "acquire", "block-all-except", "load-driver"] },
  { backend: "cuda", die: 0, steps: ["initialise"] },
  { backend: "soft", die: 0, steps: ["ordinals", "context", "module", "buffers", "probe"] },
  { backend: "soft", die: 0, steps: ["work", "read"] },
  { backend: "cuda", die: 1, steps: ["unblock", "bind"] },
  { backend: "soft", die: 0, steps: ["swap"] },
];

/** The rungs on which the kernel is at work; the others are killed in test/ladder-system.test.ts. */
const KERNEL_KILLS: Kills = [
  { backend: "cuda", die: 0, steps: ["acquire", "block-all-except", "load-driver"] },
  { backend: "cuda", die: 1, steps: ["unblock", "bind"] },
];

/** Where the doctor is asked as a program too, with all that it looks at in this machine. */
const PROGRAM_STEP: BringUpStep = "bind";

/** How long a rung is held before it runs; the longer one where the kill came too late for it. */
const PAUSES_MS = [250, 2000] as const;

/** The ladder killed in the rungs on which the kernel is at work. */
export const registerKernelKillTests = (): void => registerKillTests(KERNEL_KILLS);

/** The ladder killed in every rung: minutes, under emulation. */
export function registerEveryKillTest(): void {
  test("ladder: every rung is killed in", () => {
    const steps = EVERY_KILL.flatMap((kill): readonly BringUpStep[] => kill.steps);
    assert.deepEqual([...steps].sort(), [...BRING_UP_STEPS].sort());
  });
  registerKillTests(EVERY_KILL);
}

function registerKillTests(kills: Kills): void {
  before(beginAnew);
  after(async () => {
    resetBoard();
    await unloadBoard();
    loadBoard(DIES);
  });

  for (const { backend, die, steps } of kills) {
    for (const step of steps) {
      test(`ladder: killed in ${step} of die ${die}, which the doctor names`, async () => {
        await killIn(backend, die, step);
        await checkDiagnosis(die, step);
      });
    }
  }

  test("ladder: what was killed again and again finishes on the next start", async () => {
    const command = ladder("soft", "--json");
    assert.equal(await command.end(), 0, command.errors.join("\n"));
    const { outcome, online, rows } = reportOf(command);
    assert.equal(outcome, "complete");
    assert.deepEqual(online, [0, 1]);
    assert.equal(rows.filter(({ step }) => step === "swap").length, 2 * LADDER_DIES);
    assert.deepEqual(await bringUpFindings(), []);
  });
}

async function beginAnew(): Promise<void> {
  resetBoard();
  await unloadBoard();
  loadBoard(LADDER_DIES);
  makeState();
}

/** Kills a ladder once that rung is in the journal and before it runs. */
async function killIn(backend: "cuda" | "soft", die: number, step: BringUpStep): Promise<void> {
  for (const pauseMs of PAUSES_MS) {
    const command = ladder(backend, "--pause-ms", String(pauseMs));
    const isThere = (line: JournalLine): boolean =>
      line.pid === command.pid && line.die === die && line.step === step;
    const watcher = watch(STATE, () => {
      if (journal().some(isThere)) command.signal("SIGKILL");
    });
    const code = await command.end();
    watcher.close();
    const last = journal().at(-1);
    if (code === null && last !== undefined && isThere(last) && last.phase === "begin") return;
    // It was past it: a busy machine. What it has done is undone, and it gets more time.
    if (code !== null) assert.fail(`it ended with ${code}\n${command.errors.join("\n")}`);
    resetBoard();
  }
  assert.fail(`${step} of die ${die} was never caught: ${JSON.stringify(journal().slice(-6))}`);
}

/** What the doctor says of the bring-up alone. */
async function bringUpFindings(): Promise<readonly Finding[]> {
  const facts = await gatherFacts({
    root: "/",
    stateDirectory: STATE,
    asked: { slot: "bar_swap", backend: "soft" },
    environment: {},
    nodeVersion: process.version,
    architecture: process.arch,
    user: { uid: 0, groups: [0] },
    pid: process.pid,
    // Nothing is asked of the machine: what is looked for stands in the journal.
    prober: createRecordedProber("/nonexistent"),
  });
  return diagnose(facts).findings.filter(({ check }) => check === "bring-up");
}

async function checkDiagnosis(die: number, step: BringUpStep): Promise<void> {
  checkFindings(await bringUpFindings(), die, step);
  if (step !== PROGRAM_STEP) return;
  const flags = ["--slot", "bar_swap", "--backend", "soft", "--state-dir", STATE, "--json"];
  const doctor = new GuestCommand(["doctor", ...flags]);
  assert.equal(await doctor.end(), 0, doctor.errors.join("\n"));
  const { findings } = JSON.parse(doctor.output.join("\n")) as Pick<Diagnosis, "findings">;
  checkFindings(
    findings.filter(({ check }) => check === "bring-up"),
    die,
    step,
  );
}

/** Of this die that rung and no other; of the other one perhaps a rung that nobody climbed since. */
function checkFindings(findings: readonly Finding[], die: number, step: BringUpStep): void {
  const ofDie = findings.filter(({ subject }) => subject === `die ${die}`);
  assert.deepEqual(
    ofDie.map(({ id }) => id),
    ["bring-up-killed"],
    JSON.stringify(findings),
  );
  assert.equal(findings[0], ofDie[0], "the latest is told first");
  assert.match(ofDie[0]?.message ?? "", new RegExp(`rung '${step}' of die ${die} \\(`));
}
