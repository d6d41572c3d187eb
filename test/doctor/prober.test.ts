// The probe process itself: what hangs or crashes is told, and the next job is done all the same.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { createProcessProber, probeKey, type ProbeJob } from "../../src/doctor/mod.ts";

const PROBE_MAIN = fileURLToPath(new URL("../../src/cli/doctor-probe-main.js", import.meta.url));

/** Long enough for a busy machine to start Node in; the hanging job waits it out once. */
const TIMEOUT_MS = 4000;

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-probe-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const read = (path: string): ProbeJob => ({ kind: "read", path: path.slice(1), bytesMax: 64 });

test("a job that hangs is left behind, and those before and after it are done", async (context) => {
  const folder = folderFor(context);
  const [before, fifo, after] = ["before", "fifo", "after"].map((name) => join(folder, name));
  assert.ok(before !== undefined && fifo !== undefined && after !== undefined);
  writeFileSync(before, "one");
  writeFileSync(after, "two");
  execFileSync("mkfifo", [fifo]);
  const prober = createProcessProber({
    command: [process.execPath, PROBE_MAIN],
    timeoutMs: TIMEOUT_MS,
  });
  // Nobody ever writes to the FIFO: its reader waits in open(2), as one of a dead die does.
  assert.deepEqual(await prober([before, fifo, after].map(read)), [
    { state: "bytes", hex: Buffer.from("one").toString("hex") },
    { state: "hung", afterMs: TIMEOUT_MS },
    { state: "bytes", hex: Buffer.from("two").toString("hex") },
  ]);
});

test("what is missing or may not be opened is told by its code", async (context) => {
  const folder = folderFor(context);
  const prober = createProcessProber({
    command: [process.execPath, PROBE_MAIN],
    timeoutMs: 10 * TIMEOUT_MS,
  });
  const [missing, opened, asFolder] = await prober([
    read(join(folder, "missing")),
    { kind: "open", path: "dev/null" },
    { kind: "open", path: folder.slice(1) },
  ]);
  assert.ok(missing?.state === "failed" && missing.code === "ENOENT");
  assert.deepEqual(opened, { state: "opened" });
  assert.ok(asFolder?.state === "failed" && asFolder.code === "EISDIR");
});

test(
  "a process that crashes is told for its job, and the others are asked of " + "another",
  async () => {
    // It answers one job, chatters, and dies of a signal.
    const script =
      "console.log('hello');" +
      "console.log(JSON.stringify({ job: 0, result: { state: 'opened' } }));" +
      "process.kill(process.pid, 'SIGSEGV');";
    const prober = createProcessProber({
      command: [process.execPath, "-e", script],
      timeoutMs: 10 * TIMEOUT_MS,
    });
    const results = await prober([read("/a"), read("/b"), read("/c")]);
    assert.deepEqual(
      results.map((result) => result.state),
      ["opened", "failed", "opened"],
    );
    assert.ok(results[1]?.state === "failed" && results[1].message.includes("SIGSEGV"));
  },
);

test("a program that is not there fails each job and does not throw", async () => {
  const prober = createProcessProber({ command: ["/nonexistent/node"], timeoutMs: 1000 });
  const [result] = await prober([{ kind: "libcuda" }]);
  assert.ok(result?.state === "failed" && result.message.includes("ENOENT"));
});

test("jobs have names by which a recorded tree answers them", () => {
  assert.deepEqual(
    [{ kind: "libcuda" } as const, { kind: "open", path: "dev/nvidiactl" } as const].map(probeKey),
    ["libcuda", "open dev/nvidiactl"],
  );
});

test("of a file no more is read than was asked for", async (context) => {
  const folder = folderFor(context);
  const fifo = join(folder, "fifo");
  execFileSync("mkfifo", [fifo]);
  // Open for both, it never ends: who reads on after the bytes that are there waits for ever.
  const file = openSync(fifo, "r+");
  context.after(() => closeSync(file));
  writeSync(file, Buffer.alloc(64, 0xab));
  const prober = createProcessProber({
    command: [process.execPath, PROBE_MAIN],
    timeoutMs: 10 * TIMEOUT_MS,
  });
  const [header] = await prober([read(fifo)]);
  assert.deepEqual(header, { state: "bytes", hex: "ab".repeat(64) });
});
