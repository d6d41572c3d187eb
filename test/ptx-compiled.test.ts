// Every PTX file test, as compiled code.
import { suite, test } from "node:test";
import { checkRun, readCaseFiles } from "./ptx-cases.ts";
import { runCompiled } from "./ptx-engines.ts";

for (const file of readCaseFiles()) {
  suite(`compiled ptx/${file.fileName}`, () => {
    for (const run of file.runs) {
      test(`line ${String(run.line)}: ${run.text.slice(0, 60)}`, async () => {
        await checkRun(file, run, runCompiled);
      });
    }
  });
}
