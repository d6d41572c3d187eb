import assert from "node:assert/strict";
import { test } from "node:test";
import { BRING_UP_STEPS } from "./journal.ts";
import { adviceFor } from "./wedge-advice.ts";

test("every rung has something to try, whatever became of it", () => {
  for (const step of BRING_UP_STEPS) {
    const said = (["host_reset", "failed", "killed", "running"] as const).map((how) =>
      adviceFor(step, how),
    );
    for (const text of said) assert.match(text, /^[^\n]{20,}[^.\n]$/, step);
    assert.equal(new Set(said).size, said.length, `${step}: each is another advice`);
    assert.equal(adviceFor(step, "hung"), adviceFor(step, "host_reset"));
  }
});
