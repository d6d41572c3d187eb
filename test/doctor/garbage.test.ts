// Whatever a machine's files hold, the doctor says something and does not fall over.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  createRecordedProber,
  diagnose,
  gatherFacts,
  reportLines,
  type ProbeResult,
} from "../../src/doctor/mod.ts";
import { change, buildTree, type Machine } from "./machine-tree.ts";
import { H200_HOST, K80_HOST, K80_SLOT } from "./machines.ts";

/** Texts that parsers stumble over, and none at all. */
const text = fc.oneof(
  fc.string({ maxLength: 200 }),
  fc.constantFrom(
    ...["", "\n", "0x", "-1", "(null)", "NaN", "[none", "\0\0\0", "0x0 0x0 0x0", "live live"],
    ...["99999999999999999999999999", "0xffffffffffffffff 0xffffffffffffffff 0xffffffffffffffff"],
    ...["ffffffffffffffff-0 : PCI Bus 0000:00", "NVRM: Xid (PCI:ffff:ff:ff): 4294967295, x"],
  ),
);

const content = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 100 }) },
  { weight: 1, arbitrary: fc.constant(null) },
);

const probe: fc.Arbitrary<ProbeResult> = fc.oneof(
  fc.record({
    state: fc.constant("bytes" as const),
    hex: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString("hex")),
  }),
  fc.record({ state: fc.constant("hung" as const), afterMs: fc.nat() }),
  fc.record({ state: fc.constant("failed" as const), code: text, message: text }),
  fc.constant({ state: "opened" as const }),
  fc.constant({ state: "not_asked" as const }),
);

const MACHINES = { K80_HOST, K80_SLOT, H200_HOST } as const;
type MachineName = keyof typeof MACHINES;

/** Folders stay folders: there are links in them. */
const filesOf = ({ files }: Machine): string[] =>
  Object.keys(files).filter((path) => files[path] !== null);

/** Gives some of the machine's files and answers other contents. */
const garbled = fc.constantFrom<MachineName>("K80_HOST", "K80_SLOT", "H200_HOST").chain((name) => {
  const machine: Machine = MACHINES[name];
  return fc.record({
    name: fc.constant(name),
    paths: fc.subarray(filesOf(machine), { minLength: 1, maxLength: 12 }),
    contents: fc.array(content, { minLength: 12, maxLength: 12 }),
    links: fc.subarray(Object.keys(machine.links)),
    probes: fc.subarray(Object.keys(machine.probes)),
    answers: fc.array(probe, { minLength: 2, maxLength: 2 }),
    journal: text,
  });
});

test("garbage in any file or answer is survived, and reported in whole lines", async () => {
  const seed = Number(process.env["HOLDFAST_SEED"] ?? Date.now() % 0x7fffffff);
  const property = fc.asyncProperty(garbled, async (given) => {
    const { name, paths, contents, links, probes, answers, journal } = given;
    const machine: Machine = MACHINES[name];
    const tree = buildTree(
      change(machine, {
        files: Object.fromEntries(paths.map((path, at) => [path, contents[at] ?? null])),
        modes: Object.fromEntries(Object.keys(machine.modes).map((path) => [path, undefined])),
        links: Object.fromEntries(links.map((path) => [path, "/proc/self/nowhere"])),
        probes: Object.fromEntries(
          probes.map((key, at) => [key, answers[at] ?? { state: "not_asked" as const }]),
        ),
        state: { "bring-up.journal": journal },
      }),
    );
    try {
      const facts = await gatherFacts({
        root: tree.root,
        stateDirectory: tree.stateDirectory,
        asked: { slot: null, backend: "auto" },
        environment: {},
        nodeVersion: journal,
        architecture: "x64",
        user: { uid: 0, groups: [] },
        pid: process.pid,
        prober: createRecordedProber(tree.root),
      });
      const lines = reportLines(diagnose(facts));
      assert.ok(lines.length > 1);
      assert.ok(
        lines.every((line) => !/[\r\n\0]/.test(line)),
        JSON.stringify(lines),
      );
    } finally {
      tree.end();
    }
  });
  await fc.assert(property, { seed, numRuns: 60 });
});
