import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SAMPLE_MS, sampleProcesses, utilisationText } from "./utilisation-sampler.ts";

suite("utilisation", () => {
  test("is told as rows, and summed up", () => {
    const samples = [...Array.from({ length: 20 }, () => 0), 27, 99.6];
    const [source, first, second, sum] = utilisationText({ source: "a tool", samples }).split("\n");
    assert.equal(source, "a tool");
    assert.equal(first, Array.from({ length: 20 }, () => "  0").join(" "));
    assert.equal(second, " 27 100");
    assert.equal(sum, "2 of 22 samples above 0 %, at most 100 %, 5.8 % on average");
  });

  test("of nothing is none", () => {
    const text = utilisationText({ source: "a tool", samples: [] });
    assert.match(text, /0 of 0 samples above 0 %, at most 0 %, 0\.0 % on average$/);
  });

  test("of a busy process is above that of an idle one", async () => {
    const idle = sampleProcesses([]);
    const busy = sampleProcesses([process.pid, 2 ** 30]);
    const endMs = performance.now() + 5 * SAMPLE_MS;
    // Busy nearly all the time, with room for the timers.
    while (performance.now() < endMs) {
      const untilMs = performance.now() + SAMPLE_MS / 2;
      while (performance.now() < untilMs);
      await sleep(1);
    }
    const [none, some] = [await idle.stop(), await busy.stop()];
    assert.match(some.source, /CPU time of this process and its die hosts/);
    assert.ok(none.samples.length > 0 && none.samples.every((sample) => sample === 0));
    assert.ok(some.samples.some((sample) => sample > 0 && sample <= 100));
  });
});
