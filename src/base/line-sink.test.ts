import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createLineSink, SINK_WAIT_MS_MAX, type LineSink } from "./line-sink.ts";

/** What the descriptor does with the next write: takes this many bytes, or fails with a code. */
type Step = number | string;

function scripted(steps: readonly Step[]): {
  readonly sink: LineSink;
  readonly output: () => string;
  readonly waitedMs: () => number;
} {
  const queue = [...steps];
  let output = "";
  let waitedMs = 0;
  const sink = createLineSink({
    fileDescriptor: -1,
    writeBytes: (_fd, bytes) => {
      const step = queue.shift() ?? bytes.length;
      if (typeof step === "string") throw Object.assign(new Error(step), { code: step });
      const taken = bytes.subarray(0, step);
      output += new TextDecoder().decode(taken);
      return taken.length;
    },
    waitMs: (ms) => {
      waitedMs += ms;
    },
  });
  return { sink, output: () => output, waitedMs: () => waitedMs };
}

const stalls = (count: number): Step[] => Array.from({ length: count }, () => "EAGAIN");
const STALLED = stalls(SINK_WAIT_MS_MAX / 5 + 1);

test("a sink writes lines to a real file descriptor", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-sink-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "log");
  const fileDescriptor = openSync(path, "a");
  const sink = createLineSink({ fileDescriptor });
  sink.write("one\n");
  sink.write("zwei — 2\n");
  assert.equal(readFileSync(path, "utf8"), "one\nzwei — 2\n");
  closeSync(fileDescriptor);
});

test("a sink finishes a line that the descriptor takes in parts", () => {
  const { sink, output } = scripted([2, "EINTR", 1, "EAGAIN"]);
  sink.write("abcdef\n");
  assert.equal(output(), "abcdef\n");
});

test("a sink waits for a slow reader", () => {
  const { sink, output, waitedMs } = scripted(stalls(3));
  sink.write("late\n");
  assert.equal(output(), "late\n");
  assert.equal(waitedMs(), 15);
});

test("a sink waits anew after whatever a slow reader took", () => {
  const almost = stalls(SINK_WAIT_MS_MAX / 5);
  const { sink, output, waitedMs } = scripted([...almost, 2, ...almost, 2, ...almost]);
  sink.write("abcdef\n");
  assert.equal(output(), "abcdef\n");
  assert.equal(waitedMs(), 3 * SINK_WAIT_MS_MAX);
});

test("a sink gives up on a stopped reader once, then tells what was lost", () => {
  const { sink, output, waitedMs } = scripted([...STALLED, "EAGAIN", "EAGAIN"]);
  sink.write("lost 1\n");
  assert.equal(waitedMs(), SINK_WAIT_MS_MAX);
  sink.write("lost 2\n");
  sink.write("lost 3\n");
  assert.equal(waitedMs(), SINK_WAIT_MS_MAX, "only the first line waits");
  sink.write("back\n");
  assert.equal(output(), "3 lines lost before this one (EAGAIN)\nback\n");
});

test("a sink completes a half-written line before the next", () => {
  const { sink, output } = scripted([3, ...STALLED]);
  sink.write("abcdef\n");
  assert.equal(output(), "abc");
  sink.write("next\n");
  assert.equal(output(), "abcdef\nnext\n");
});

test("a sink on a full disk loses lines and goes on", () => {
  const { sink, output } = scripted(["ENOSPC", "ENOSPC"]);
  sink.write("lost\n");
  sink.write("lost\n");
  sink.write("back\n");
  assert.match(output(), /^2 lines lost before this one \(ENOSPC\)\nback\n$/);
  assert.ok(sink.isOpen());
  assert.equal(sink.failure(), "ENOSPC");
});

test("a sink whose reader left is silent for good", () => {
  for (const code of ["EPIPE", "EIO", "EBADF"]) {
    const { sink, output } = scripted([code]);
    sink.write("gone\n");
    sink.write("gone\n");
    assert.equal(output(), "");
    assert.ok(!sink.isOpen());
    assert.equal(sink.failure(), null);
  }
});

test("a sink outlives a real pipe's reader", () => {
  const module = new URL("./line-sink.js", import.meta.url).href;
  const script = `
    import { createLineSink } from ${JSON.stringify(module)};
    const sink = createLineSink({ fileDescriptor: 1 });
    for (let line = 0; line < 50_000; line++) sink.write("line\\n");
    process.exitCode = sink.isOpen() ? 1 : 42;`;
  const node = JSON.stringify(process.execPath);
  const pipeline = `${node} --input-type=module -e "$SCRIPT" | head -1; exit \${PIPESTATUS[0]}`;
  const run = spawnSync("bash", ["-c", pipeline], {
    encoding: "utf8",
    env: { ...process.env, SCRIPT: script },
  });
  assert.deepEqual([run.status, run.stdout, run.stderr], [42, "line\n", ""]);
});
