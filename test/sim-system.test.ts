// `holdfast sim`, and owners on a simulated board in real time, with real die hosts.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";

import { PROGRAM } from "./repl-process.ts";

/** Long for any of these on a busy machine. */
const TIMEOUT_MS = 120_000;

const folder = mkdtempSync(join(tmpdir(), "holdfast-sim-"));
process.once("exit", () => rmSync(folder, { recursive: true }));

const SCENARIOS = fileURLToPath(new URL("../../examples/scenarios/", import.meta.url));

type Run = { readonly code: number | null; readonly output: string; readonly errors: string };

function run(words: readonly string[], input = ""): Run {
  const child = spawnSync(process.execPath, [PROGRAM, ...words], {
    ...{ encoding: "utf8", timeout: TIMEOUT_MS, input, cwd: folder },
  });
  return { code: child.status, output: child.stdout, errors: child.stderr };
}

/** Online, work, swap back and forth, read: on the first and the last dies. */
function commandsFor(dies: readonly number[]): string {
  const each = (command: (die: number) => string): string => dies.map(command).join("\n");
  return [
    each((die) => `online ${die}`),
    // A host that counts another die takes the first dies' contexts along.
    each((die) => `online ${die}`),
    each((die) => `work ${die} ${die + 1} ${10 * die + 1}`),
    each((die) => `swap ${die}`),
    each((die) => `read ${die}`),
    "quit\n",
  ].join("\n");
}

suite("an owner on a simulated board", () => {
  for (const dies of [2, 16]) {
    test(`${dies} dies: online, work, swap and read`, () => {
      const numbers = Array.from({ length: dies }, (_, die) => die);
      const flags = ["--slot", "sim", "--backend", "soft", "--dies", String(dies)];
      const words = ["owner", ...flags, "--state-dir", folder];
      const { code, output } = run(words, commandsFor(numbers));
      assert.equal(code, 0);
      for (const die of numbers) assert.match(output, new RegExp(`read ${die}: PASS `));
      assert.equal(output.match(/: FAIL/g), null);
    });
  }

  test("a scenario gives the machine, and its faults strike in real time", () => {
    const scenario = join(folder, "two-boards.json");
    const latencyMs = { acquire: 1, block: 0, modprobe: 1, unblock: 0, bind: 1 };
    const faults = [{ kind: "refused", step: "modprobe" }, { kind: "xid" }];
    writeFileSync(scenario, JSON.stringify({ boards: 2, diesPerBoard: 2, latencyMs, faults }));
    const state = join(folder, "state");
    const flags = ["--slot", "sim", "--backend", "soft", "--scenario", scenario];
    const input = "online 3\nonline 3\nwork 3 1 1\nread 3\nquit\n";
    const { code, output } = run(["owner", ...flags, "--state-dir", state], input);
    assert.equal(code, 0);
    assert.match(output, /only 'holdfast sim' plays the faults xid at kernel/);
    assert.match(output, /modprobe nvidia FAILED .*a fault of the scenario/);
    assert.match(output, /read 3: PASS /);
    const listed = run(["devices", ...flags, "--json", "--state-dir", state]);
    assert.equal((JSON.parse(listed.output) as { dies: unknown[] }).dies.length, 4);
  });

  test("a scenario that cannot be is refused, with the mend", () => {
    const words = ["devices", "--slot", "sim", "--scenario", join(folder, "none.json")];
    assert.match(run(words).errors, /none\.json cannot be read/);
    const other = run(["devices", "--slot", "direct", "--scenario", "x"]);
    assert.deepEqual([other.code, /use --slot sim/.test(other.errors)], [2, true]);
  });
});

suite("holdfast sim", () => {
  test("replays a seed: the same lines, and a verdict", () => {
    const words = ["sim", "--scenario", join(SCENARIOS, "k80-box.json"), "--seed", "7"];
    const [first, second] = [run(words), run(words)];
    assert.equal(first.code, 0, first.output.slice(-1000));
    assert.match(first.output, /PASS seed 7: .*every invariant held\n$/);
    assert.equal(first.output, second.output);
  });

  test("runs many seeds and prints a table, or JSON", () => {
    const { code, output } = run(["sim", "--runs", "20"]);
    assert.equal(code, 0, output);
    assert.match(output, /^runs +20$/m);
    assert.match(output, /PASS: every invariant held in every run\n$/);
    const plain = JSON.parse(run(["sim", "--runs", "3", "--json"]).output) as Record<
      string,
      unknown
    >;
    assert.deepEqual([plain["runs"], plain["failed"], plain["replay"]], [3, 0, null]);
  });

  test("a scenario with a mistake is refused by name and place", () => {
    const scenario = join(folder, "bad.json");
    writeFileSync(scenario, '{"faults":[{"kind":"lunch"}]}');
    const { code, errors } = run(["sim", "--scenario", scenario]);
    assert.equal(code, 2);
    assert.match(errors, /bad\.json: faults\[0\]\.kind is "lunch"; use one of refused, hang/);
  });
});
