// The command as it is typed: over recorded trees, and over the machine that runs this.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import type { Diagnosis } from "../../src/doctor/mod.ts";
import { PROGRAM } from "../repl-process.ts";
import { H200_HOST, K80_SLOT, PLAIN } from "./machines.ts";
import { buildTree, change, type Machine } from "./machine-tree.ts";

type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

function doctor(...words: readonly string[]): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, "doctor", ...words], {
    encoding: "utf8",
  });
  return { code: status, stdout, stderr };
}

const cases: readonly {
  readonly name: string;
  readonly machine: Machine;
  readonly words: readonly string[];
  readonly code: number;
  readonly says: RegExp;
}[] = [
  {
    name: "a healthy host",
    machine: H200_HOST,
    words: [],
    code: 0,
    says: /0000:18:00.0 .*bound to nvidia[^]*device 0: NVIDIA H200[^]*nothing wrong \(20 checks\)\n$/,
  },
  {
    name: "no GPU, and none asked for",
    machine: PLAIN,
    words: [],
    code: 0,
    says: /^no NVIDIA GPU: the software GPU will be used[^]*nothing wrong/,
  },
  {
    name: "no GPU, and one asked for",
    machine: PLAIN,
    words: ["--backend", "cuda"],
    code: 3,
    says: /PROBLEM no-gpu[^]*2 problems/,
  },
  {
    name: "a problem",
    machine: change(K80_SLOT, { files: { "sys/module/nvidia/initstate": "coming\n" } }),
    words: [],
    code: 1,
    says: /PROBLEM module-stuck \[nvidia\]: [^\n]+\n {4}mend: [^\n]+\n {4}type: [^]*1 problem, 0/,
  },
  {
    name: "a warning alone",
    machine: change(PLAIN, { files: { "proc/meminfo": "MemAvailable: 1024 kB\n" } }),
    words: [],
    code: 0,
    says: /WARNING memory-low[^]*nothing stands in the way: 0 problems, 1 warning, 0 notes\n$/,
  },
];

for (const { name, machine, words, code, says } of cases) {
  test(`holdfast doctor: ${name}`, (context) => {
    const tree = buildTree(machine);
    context.after(tree.end);
    const flags = ["--root", tree.root, "--state-dir", tree.stateDirectory];
    const ran = doctor(...flags, ...words);
    assert.equal(ran.stderr, "");
    assert.equal(ran.code, code, ran.stdout);
    assert.match(ran.stdout, says);
    const json = JSON.parse(doctor(...flags, ...words, "--json").stdout) as Diagnosis;
    assert.equal(
      json.findings.filter(({ severity }) => severity === "problem").length > 0,
      code > 0,
    );
  });
}

test("holdfast doctor: this machine, whatever it is", () => {
  const ran = doctor("--json", "--backend", "soft");
  assert.ok(ran.code === 0 || ran.code === 1, ran.stderr);
  const { verdict, machine } = JSON.parse(ran.stdout) as Diagnosis;
  assert.ok(verdict !== "no_device" && machine.node === process.version);
  const asked = doctor("--json");
  assert.ok(asked.code === 0 || asked.code === 1, asked.stderr);
});

test("holdfast doctor: a root that is no tree of a machine is refused", (context) => {
  const tree = buildTree(change(PLAIN, { files: { sys: undefined } }));
  context.after(tree.end);
  for (const root of ["/nonexistent/tree", tree.root, "/dev/null"]) {
    const ran = doctor("--root", root, "--state-dir", "/tmp");
    assert.deepEqual([ran.code, ran.stdout], [2, ""]);
    assert.match(ran.stderr, /^holdfast: --root [^\n]+ no folder [^\n]+(sys|proc); name a folder/);
  }
});
