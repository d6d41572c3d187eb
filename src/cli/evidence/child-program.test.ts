import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { runProgram, type ProgramRun } from "./child-program.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-child-"));
after(() => {
  rmSync(folder, { recursive: true });
});

const node = (
  script: string,
  onExit: (end: () => void) => () => void,
): Promise<ProgramRun | null> => runProgram({ onExit }, [process.execPath, "-e", script], folder);

const ignored = () => () => undefined;

suite("a program", () => {
  test("is run to its end; both of its streams are kept in order", async () => {
    const script = `
      for (const [fd, text] of [[1, "one\\n"], [2, "two\\n"], [1, "three\\n"]])
        require("fs").writeSync(fd, text);
      process.exit(7);`;
    assert.deepEqual(await node(script, ignored), { code: 7, output: "one\ntwo\nthree\n" });
  });

  test("that is not there is null", async () => {
    assert.equal(await runProgram({ onExit: ignored }, ["no-such-program"], folder), null);
  });

  test("does not outlive us", async () => {
    const run = await node("setTimeout(() => {}, 60_000)", (end) => {
      setTimeout(end, 50);
      return ignored();
    });
    assert.deepEqual(run, { code: null, output: "" });
  });
});
