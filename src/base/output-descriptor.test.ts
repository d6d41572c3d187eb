import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as after } from "node:timers/promises";

import { openOutputDescriptor } from "./output-descriptor.ts";

/** Both ends of a pipe, the writer's blocking as a shell makes it. */
function openPipe(context: TestContext): { readonly reader: number; readonly writer: number } {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-output-"));
  const path = join(folder, "pipe");
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  context.after(() => {
    closeSync(reader);
    closeSync(writer);
    rmSync(folder, { recursive: true });
  });
  return { reader, writer };
}

function isBlocking(descriptor: number): boolean {
  const information = readFileSync(`/proc/self/fdinfo/${String(descriptor)}`, "utf8");
  const flags = Number.parseInt(/^flags:\s*([0-7]+)$/m.exec(information)?.[1] ?? "", 8);
  assert.ok(Number.isInteger(flags));
  return (flags & constants.O_NONBLOCK) === 0;
}

const LINE_BYTES = 100;
/** 300 KiB, more than a pipe holds. */
const LINES = 3072;

/** Fills stdout, says so on stderr, goes on with a line now and then; SIGTERM ends it with 42. */
function startWriter(descriptorText: string, writer: number) {
  const moduleOf = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
  const script = `
    import { writeSync } from "node:fs";
    import { createLineSink } from ${moduleOf("./line-sink.js")};
    import { openOutputDescriptor } from ${moduleOf("./output-descriptor.js")};
    const sink = createLineSink({ fileDescriptor: ${descriptorText} });
    process.on("SIGTERM", () => process.exit(42));
    writeSync(2, "begun\\n");
    for (let line = 0; line < ${String(LINES)}; line += 1) {
      sink.write(String(line).padEnd(${String(LINE_BYTES - 1)}) + "\\n");
    }
    writeSync(2, "done\\n");
    setInterval(() => sink.write("another line\\n"), 20);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", writer, "pipe"],
  });
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const said = async (word: string): Promise<boolean> => {
    for (let waitedMs = 0; waitedMs < 20_000 && !errors.includes(word); waitedMs += 20) {
      await after(20);
    }
    return errors.includes(word);
  };
  return { child, said, errors: () => errors };
}

function readAll(reader: number): string {
  const bytes = Buffer.alloc(LINES * LINE_BYTES);
  return bytes.toString("latin1", 0, readSync(reader, bytes));
}

test("a reader that sleeps costs lines, and the process ends on SIGTERM", async (context) => {
  const { reader, writer } = openPipe(context);
  const { child, said } = startWriter("openOutputDescriptor(1)", writer);
  context.after(() => child.kill("SIGKILL"));
  assert.ok(await said("done"));
  child.kill("SIGTERM");
  const [code] = (await once(child, "exit")) as [number | null];
  assert.equal(code, 42);
  const lines = readAll(reader).trimEnd().split("\n");
  const numbers = lines.map(Number).filter((line) => !Number.isNaN(line));
  assert.ok(numbers.length > 100 && numbers.length < LINES);
  assert.deepEqual(
    numbers,
    numbers.map((_, line) => line),
  );
  // The last gap of the pipe may hold shorter lines, which tell of the lost ones.
  for (const line of lines.slice(numbers.length)) assert.match(line, /lines lost|another line/);
  assert.ok(isBlocking(writer), "whoever shares the pipe is not disturbed");
});

test("the control: over the pipe itself the process sleeps through SIGTERM", async (context) => {
  const { writer } = openPipe(context);
  const { child, said, errors } = startWriter("1", writer);
  context.after(() => child.kill("SIGKILL"));
  assert.ok(await said("begun"));
  await after(500);
  child.kill("SIGTERM");
  await after(500);
  assert.deepEqual([child.exitCode, errors()], [null, "begun\n"]);
});

test("a pipe is opened anew without changing the given descriptor", (context) => {
  const { writer } = openPipe(context);
  const opened = openOutputDescriptor(writer);
  assert.notEqual(opened, writer);
  assert.deepEqual([isBlocking(opened), isBlocking(writer)], [false, true]);
  assert.equal(fstatSync(opened).ino, fstatSync(writer).ino);
  closeSync(opened);
});

test("a pipe whose reader left stays the given one, which tells of it", (context) => {
  const { reader, writer } = openPipe(context);
  closeSync(reader);
  assert.equal(openOutputDescriptor(writer), writer);
  // Takes the number again, which the end of the test closes.
  assert.equal(openSync("/dev/null", "r"), reader);
});

test("what has no reader that could sleep stays the given one", (context) => {
  for (const path of ["/dev/null", "/dev/full", "/proc/self/comm"]) {
    const given = openSync(path, "r+");
    context.after(() => closeSync(given));
    assert.equal(openOutputDescriptor(given), given, path);
  }
  assert.equal(openOutputDescriptor(-1), -1);
});

test("a socket stays the given one", () => {
  const module = JSON.stringify(new URL("./output-descriptor.js", import.meta.url).href);
  const script = `
    import { fstatSync } from "node:fs";
    import { openOutputDescriptor } from ${module};
    console.log(fstatSync(1).isSocket(), openOutputDescriptor(1));`;
  // Node's own pipes are sockets.
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  assert.equal(run.stdout, "true 1\n");
});
