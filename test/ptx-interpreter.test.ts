// Every PTX file test, on the interpreter; and every kernel's IR, through the verifier.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compileFront, parsePtx, printModule, verifyKernel } from "../src/ptx/mod.ts";
import { checkErrors, checkRun, readCaseFiles } from "./ptx-cases.ts";
import { runInterpreter } from "./ptx-engines.ts";

for (const file of readCaseFiles()) {
  suite(`ptx/${file.fileName}`, () => {
    test("gives the errors that it announces and no others", () => {
      checkErrors(file);
    });

    test("has well-formed IR in every kernel that can be lowered", () => {
      const module = compileFront(file.text, file.fileName);
      for (const entry of module.ok ? module.value.entries : []) {
        const kernel = entry.lower();
        if (kernel.ok) verifyKernel(kernel.value);
      }
    });

    test("prints and parses to a fixed point", () => {
      const parsed = parsePtx(file.text, file.fileName);
      if (!parsed.ok) return;
      const printed = printModule(parsed.value);
      const again = parsePtx(printed, "printed.ptx");
      assert.ok(again.ok, again.ok ? "" : again.error.message);
      assert.equal(printModule(again.value), printed);
    });

    for (const run of file.runs) {
      test(`line ${String(run.line)}: ${run.text.slice(0, 60)}`, async () => {
        await checkRun(file, run, runInterpreter);
      });
    }
  });
}
