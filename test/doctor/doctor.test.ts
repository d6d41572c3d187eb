import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test, type TestContext } from "node:test";
import {
  CHECKS,
  createRecordedProber,
  diagnose,
  gatherFacts,
  reportLines,
  type Diagnosed,
  type Diagnosis,
} from "../../src/doctor/mod.ts";
import { K80_SLOT } from "./machines.ts";
import { buildTree } from "./machine-tree.ts";
import type { Expected, Situation } from "./situation.ts";
import { SITUATIONS } from "./situations/mod.ts";

const OPERATING = fileURLToPath(new URL("../../../docs/OPERATING.md", import.meta.url));

async function diagnosisOf(context: TestContext, situation: Situation): Promise<Diagnosis> {
  const tree = buildTree(situation.machine);
  context.after(tree.end);
  const { stateDirectory: below } = situation;
  const facts = await gatherFacts({
    root: tree.root,
    stateDirectory: below === undefined ? tree.stateDirectory : join(tree.root, below),
    asked: { slot: null, backend: "auto", ...situation.asked },
    environment: situation.environment ?? {},
    nodeVersion: situation.nodeVersion ?? "v20.19.0",
    architecture: "x64",
    user: situation.user ?? { uid: 0, groups: [] },
    pid: process.pid,
    prober: createRecordedProber(tree.root),
  });
  return diagnose(facts);
}

const textOf = ({ message, mend, command }: Diagnosed): string =>
  [message, mend, command ?? ""].join("\n");

/** Findings are those of `finds`, no more and no less, in any order, and say what is said there. */
function assertFound(findings: readonly Diagnosed[], finds: readonly Expected[]): void {
  const all = findings.map((each) => `${each.id} [${each.subject ?? ""}]: ${textOf(each)}`);
  assert.deepEqual(
    findings.map(({ id }) => id).sort(),
    finds.map(({ id }) => id).sort(),
    all.join("\n\n"),
  );
  const left = [...findings];
  for (const { id, about, says = [], severity, command } of finds) {
    const at = left.findIndex(
      (found) => found.id === id && (about === undefined || found.subject === about),
    );
    if (severity !== undefined) assert.equal(left[at]?.severity, severity, all.join("\n\n"));
    if (command !== undefined) assert.equal(left[at]?.command, command, all.join("\n\n"));
    assert.ok(at >= 0, `no ${id} is about ${about ?? ""}:\n${all.join("\n\n")}`);
    const [found] = left.splice(at, 1);
    const text = found === undefined ? "" : textOf(found);
    for (const part of says) assert.ok(text.includes(part), `'${part}' is not in:\n${text}`);
  }
}

for (const situation of SITUATIONS) {
  test(`doctor: ${situation.name}`, async (context) => {
    const diagnosis = await diagnosisOf(context, situation);
    assertFound(diagnosis.findings, situation.finds);
    const lines = reportLines(diagnosis);
    assert.ok(
      lines.every((line) => !line.includes("\n")),
      "a line of the report is one line",
    );
    if (situation.finds.length === 0) {
      assert.equal(diagnosis.verdict, "well");
      assert.match(lines.at(-1) ?? "", /^nothing wrong/);
    }
  });
}
test("each finding of each check is found in some situation, and none that no check knows", () => {
  const found = new Set(SITUATIONS.flatMap(({ finds }) => finds.map(({ id }) => id)));
  const known = new Set(CHECKS.flatMap(({ findings }) => findings));
  assert.deepEqual([...known].filter((id) => !found.has(id)).sort(), []);
  assert.deepEqual([...found].filter((id) => !known.has(id)).sort(), []);
});

test("every check runs, and is silent, on a healthy machine with a window", async (context) => {
  const { findings, machine } = await diagnosisOf(context, {
    name: "all",
    machine: K80_SLOT,
    finds: [],
  });
  assert.deepEqual(findings, []);
  assert.equal(machine.checks, CHECKS.length);
});

test("ids of checks and findings are given once", () => {
  const ids = CHECKS.flatMap(({ id, findings }) => [`check ${id}`, ...findings]);
  assert.equal(new Set(ids).size, ids.length);
});

test("docs/OPERATING.md lists every check with what it can find", () => {
  const text = readFileSync(OPERATING, "utf8").replaceAll(/ +\|/g, " |");
  for (const { id, title, findings } of CHECKS) {
    const row = `| \`${id}\` | ${title} | ${findings.map((each) => `\`${each}\``).join(", ")} |`;
    assert.ok(text.includes(row), `add to the table: ${row}`);
  }
});
