// The owner on a simulated machine: thousands of requests among faults, the same run for the same
// seed, and a checker that finds each rule broken on purpose.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { DEFAULT_SCENARIO } from "./default-scenario.ts";
import { MUTATIONS, type Mutation } from "./mutation.ts";
import { parseScenario } from "./scenario-parse.ts";
import type { SimScenario } from "./scenario.ts";
import { simulate, type SimReport } from "./simulation.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const basePayload = join(ROOT, "kernels", "base.ptx");
const SCENARIOS = join(ROOT, "examples", "scenarios");

/** Another start for other runs: SIM_SEED=1000 node --test ... */
const FIRST_SEED = Number(process.env["SIM_SEED"] ?? "0");

/** Runs of the scenario in which everything goes wrong. */
const RUNS = 1000;

/** Seeds in which a mutation has to be found, at least in one. */
const MUTATION_RUNS = 40;

const files = readdirSync(SCENARIOS, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".json"))
  .sort();

function load(name: string): SimScenario {
  const scenario = parseScenario(readFileSync(join(SCENARIOS, name), "utf8"));
  assert.ok(scenario.ok, scenario.ok ? "" : `${name}: ${scenario.error}`);
  return scenario.value;
}

/** Fails with what replays the run. */
function assertHeld({ seed, violations }: SimReport, name: string): void {
  const [first] = violations;
  if (first === undefined) return;
  const replay = `holdfast sim ${name === "" ? "" : `--scenario ${name} `}--seed ${seed}`;
  assert.fail(`invariant ${first.invariant}: ${first.text}\nreplayed by: ${replay}`);
}

test(`${RUNS} seeds of a machine on which everything goes wrong`, async () => {
  const seen = new Map<string, number>();
  let swaps = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) {
    const report = await simulate({ scenario: DEFAULT_SCENARIO, seed, basePayload });
    assertHeld(report, "");
    swaps += report.swaps;
    for (const [kind, count] of report.faults) seen.set(kind, (seen.get(kind) ?? 0) + count);
  }
  const struck = DEFAULT_SCENARIO.machine.faults.map(({ kind }) => kind);
  for (const kind of struck) assert.ok((seen.get(kind) ?? 0) > 0, `${kind} struck in no run`);
  assert.ok(swaps > RUNS, `${swaps} swaps`);
});

for (const name of files) {
  test(`scenario ${name}: every invariant holds, and work is done`, async () => {
    const scenario = load(name);
    const answers = new Map<string, number>();
    let faults = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + 10; seed++) {
      const report = await simulate({ scenario, seed, basePayload });
      assertHeld(report, `examples/scenarios/${name}`);
      for (const [answer, count] of report.answers)
        answers.set(answer, (answers.get(answer) ?? 0) + count);
      for (const count of report.faults.values()) faults += count;
    }
    for (const answer of ["online ok", "work ok", "read ok", "run ok", "swap ok"])
      assert.ok((answers.get(answer) ?? 0) > 0, `${answer} in no run`);
    assert.equal(faults > 0, scenario.machine.faults.length > 0, `${faults} faults`);
  });
}

test("the same seed gives the same log, byte for byte, and another one another", async () => {
  const logOf = async (seed: number): Promise<string> => {
    const lines: string[] = [];
    const onLine = (line: string): void => void lines.push(line);
    await simulate({ scenario: DEFAULT_SCENARIO, seed, basePayload, onLine });
    return lines.join("\n");
  };
  for (let seed = FIRST_SEED; seed < FIRST_SEED + 10; seed++) {
    const [first, second, other] = [await logOf(seed), await logOf(seed), await logOf(seed + 1)];
    assert.ok(first.length > 1000);
    assert.equal(first, second);
    assert.notEqual(first, other);
  }
});

/** Faults at steps of the board, so that there is something to restore. */
const REFUSING = '{"kind":"refused","step":"bind","probability":0.3}';
const ERRING = '{"kind":"wrong_answer","probability":0.2,"clearsAfterMs":1000000}';

/** Clients that look at the status for minutes, so that a lie of it is seen. */
const WATCHFUL =
  '{"clients":2,"operations":60,"gapMs":[1000,4000],"mix":{"online":2,"status":4,"work":1}}';

const SETTINGS: Readonly<Partial<Record<Mutation, string>>> = {
  restores_nothing: `{"faults":[${REFUSING}]}`,
  hides_wrong_answers: `{"diesPerBoard":1,"faults":[${ERRING}],"workload":${WATCHFUL}}`,
};

for (const mutation of Object.keys(MUTATIONS) as Mutation[]) {
  const { invariant, brief } = MUTATIONS[mutation];
  test(`the checker finds ${mutation} (${brief}) to break ${invariant}`, async () => {
    const parsed = parseScenario(SETTINGS[mutation] ?? '{"faults":[]}');
    assert.ok(parsed.ok);
    const scenario = parsed.value;
    let found = 0;
    for (let seed = 0; seed < MUTATION_RUNS && found === 0; seed++) {
      // The control: the machine as it should be breaks nothing in the same run.
      assertHeld(await simulate({ scenario, seed, basePayload }), "");
      const broken = await simulate({ scenario, seed, basePayload, mutation });
      found = broken.violations.filter((violation) => violation.invariant === invariant).length;
    }
    assert.ok(found > 0, `not found in ${MUTATION_RUNS} runs`);
  });
}
