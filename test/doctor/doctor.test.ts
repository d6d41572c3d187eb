import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import {
  createRecordedProber,
  diagnose,
  gatherFacts,
  reportLines,
  type Diagnosed,
  type Diagnosis,
} from "../../src/doctor/mod.ts";
import { buildTree } from "./machine-tree.ts";
import type { Expected, Situation } from "./situation.ts";
import { SITUATIONS } from "./situations/mod.ts";

async function diagnosisOf(context: TestContext, situation: Situation): Promise<Diagnosis> {
  const tree = buildTree(situation.machine);
  context.after(tree.end);
  const facts = await gatherFacts({
    root: tree.root,
    stateDirectory: tree.stateDirectory,
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
  for (const { id, about, says = [] } of finds) {
    const at = left.findIndex(
      (found) => found.id === id && (about === undefined || found.subject === about),
    );
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
