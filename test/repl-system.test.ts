// `holdfast owner` as a process, over an owner in memory: pipes, FIFOs, logs, signals, a terminal.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { FAKE_MAIN, runFake, startFake, testFolder } from "./fakes/spawn-fake.ts";

const folder = testFolder();
const STAMP = /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] /;

/** Lines without their stamps; every line must have one. */
function textsOf(output: string): string[] {
  assert.ok(output.endsWith("\n"), "the last line is whole");
  return output
    .trimEnd()
    .split("\n")
    .map((line) => {
      assert.match(line, STAMP);
      return line.replace(STAMP, "");
    });
}

function makeFifo(name: string): string {
  const path = join(folder, name);
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
  return path;
}

/** Opens, writes and closes, as `echo text > fifo` does. */
function writeTo(path: string, text: string): void {
  const file = openSync(path, "w");
  writeSync(file, text);
  closeSync(file);
}

suite("owner over a pipe", () => {
  test("stamps every line, and leaves with 0 on quit", () => {
    const input = "online 0\nwork 0 1 2\nread 0\nquit\n";
    const { code, output, errors } = runFake(["owner"], { folder, input });
    assert.deepEqual([code, errors], [0, ""]);
    const texts = textsOf(output);
    const ready = texts.findIndex((text) => text.startsWith("owner REPL ready (fifo=stdin "));
    assert.ok(ready >= 0);
    assert.match(texts[ready + 3] ?? "", /^read 0: PASS /);
    assert.equal(texts.at(-1), "owner REPL exiting");
  });

  test("leaves with 0 at the end of input, after a last line without an end", () => {
    const { code, output } = runFake(["owner"], { folder, input: "count" });
    assert.equal(code, 0);
    const [count, end, exiting] = textsOf(output).slice(-3);
    assert.match(count ?? "", /^count: cuDeviceGetCount = 2/);
    assert.match(end ?? "", /^end of input: leaving REPL/);
    assert.equal(exiting, "owner REPL exiting");
  });

  test("answers a 10,000-byte line, NUL, broken UTF-8 and CRLF with one line each", () => {
    const input = Buffer.concat([
      Buffer.from(`${"x".repeat(10_000)}\nsta\0tus\n`),
      Buffer.from([0xff, 0xfe, 0x0a]),
      Buffer.from("count\r\nquit\r\n"),
    ]);
    const { code, output } = runFake(["owner"], { folder, input });
    const texts = textsOf(output).slice(-6);
    assert.match(texts[0] ?? "", /over 4096 bytes/);
    assert.match(texts[1] ?? "", /NUL byte/);
    assert.match(texts[2] ?? "", /no UTF-8/);
    assert.match(texts[3] ?? "", /^count: /);
    assert.equal(code, 0);
  });

  test("holds no more than it must of a line without an end", () => {
    const command = `head -c 300000000 /dev/zero | tr '\\0' x | $NODE $MAIN owner`;
    const run = spawnSync("bash", ["-c", `ulimit -v 4000000; ${command}`], {
      encoding: "utf8",
      env: { ...process.env, NODE: `${process.execPath} --max-old-space-size=40`, MAIN: FAKE_MAIN },
    });
    assert.equal(run.status, 0, run.stderr);
    assert.equal(textsOf(run.stdout).filter((text) => text.includes("over 4096")).length, 1);
  });

  test("a folder as stdin is an input that ends at once", () => {
    const script = `"$NODE" "$MAIN" owner < /tmp`;
    const env = { ...process.env, NODE: process.execPath, MAIN: FAKE_MAIN };
    const run = spawnSync("bash", ["-c", script], { encoding: "utf8", env });
    assert.deepEqual([run.status, run.stderr], [0, ""]);
    assert.match(run.stdout, /end of input: leaving REPL/);
  });

  test("a reader of stdout that leaves costs no stack, and the owner goes on", () => {
    const path = join(folder, "survivor.log");
    const script = `{ for i in 1 2 3 4 5 6; do echo help; sleep 0.05; done; echo quit; } \
      | { "$NODE" "$MAIN" owner; echo "code $?" > "$LOG"; } | head -1`;
    const env = { ...process.env, NODE: process.execPath, MAIN: FAKE_MAIN, LOG: path };
    const run = spawnSync("bash", ["-c", script], { encoding: "utf8", env });
    assert.equal(run.stderr, "");
    assert.equal(readFileSync(path, "utf8"), "code 0\n");
  });
});

suite("owner over a FIFO", () => {
  test("a writer leaves and another comes", async () => {
    const fifo = makeFifo("one");
    const { output, waitFor, code } = startFake(["owner", "--fifo", fifo], { folder });
    await waitFor(/ready \(fifo=.*one log=stdout\)/);
    writeTo(fifo, "online 0\n");
    await waitFor(/online 0: OK/);
    writeTo(fifo, "work 0 1 2\nre");
    writeTo(fifo, "ad 0\n");
    await waitFor(/read 0: PASS/);
    writeTo(fifo, "quit\n");
    assert.equal(await code, 0);
    assert.ok(textsOf(output()).at(-1) === "owner REPL exiting");
  });

  test("two writers at once, each with whole lines", async () => {
    const fifo = makeFifo("two");
    const { output, waitFor, code } = startFake(["owner", "--fifo", fifo], { folder });
    await waitFor(/ready/);
    const [left, right] = [openSync(fifo, "w"), openSync(fifo, "w")];
    for (let turn = 0; turn < 50; turn++) {
      writeSync(left, "count\n");
      writeSync(right, "swap 1\n");
    }
    closeSync(left);
    writeSync(right, "quit\n");
    assert.equal(await code, 0);
    closeSync(right);
    const texts = textsOf(output());
    assert.equal(texts.filter((text) => text.startsWith("count: ")).length, 50);
    assert.equal(texts.filter((text) => text.startsWith("swap 1: OK")).length, 50);
  });

  const refused: readonly { name: string; path: string; error: RegExp }[] = [
    { name: "is not there", path: "missing", error: /does not exist; make it first: mkfifo / },
    { name: "is a file", path: FAKE_MAIN, error: /is no FIFO/ },
    { name: "is a folder", path: "/tmp", error: /is no FIFO/ },
    { name: "is a device", path: "/dev/null", error: /is no FIFO/ },
    { name: "lies under a file", path: `${FAKE_MAIN}/x`, error: /cannot be opened \(ENOTDIR\)/ },
  ];
  for (const { name, path, error } of refused) {
    test(`a path that ${name} is refused with 2 and one line`, () => {
      const run = runFake(["owner", "--fifo", path], { folder });
      assert.deepEqual([run.code, run.output], [2, ""]);
      assert.match(run.errors, error);
      assert.equal(run.errors.trimEnd().split("\n").length, 1);
    });
  }
});

suite("owner's log", () => {
  test("is appended to", () => {
    const path = join(folder, "owner.log");
    for (let run = 0; run < 2; run++) {
      const { code, output } = runFake(["owner", "--log", path], { folder, input: "count\n" });
      assert.deepEqual([code, output], [0, ""]);
    }
    const texts = textsOf(readFileSync(path, "utf8"));
    assert.equal(texts.filter((text) => text.startsWith("count: ")).length, 2);
    assert.match(texts.find((text) => text.includes("ready")) ?? "", /log=.*owner\.log\)/);
  });

  test("falls back to stdout where it cannot be opened, and says so", () => {
    mkdirSync(join(folder, "is-a-folder"));
    for (const [path, reason] of [
      ["is-a-folder", "EISDIR"],
      ["no/such/folder/log", "ENOENT"],
    ] as const) {
      const run = runFake(["owner", "--log", path], { folder, input: "count\nquit\n" });
      assert.equal(run.code, 0);
      const texts = textsOf(run.output);
      assert.equal(texts[0], `log ${path} cannot be opened (${reason}), using stdout`);
      assert.ok(texts.some((text) => text.endsWith("log=stdout) — type 'help'")));
      assert.ok(texts.some((text) => text.startsWith("count: ")));
    }
  });

  test("on a full disk loses lines and not the owner", () => {
    const run = runFake(["owner", "--log", "/dev/full"], { folder, input: "count\nquit\n" });
    assert.deepEqual([run.code, run.errors], [0, ""]);
  });
});

suite("owner and signals", () => {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    test(`${signal} ends the command under way, then leaves with 0, and says so`, async () => {
      const options = { delayMs: 1000 };
      const { child, output, waitFor, code } = startFake(["owner"], { folder, options });
      await waitFor(/ready/);
      child.stdin.write("count\nswap 1\n");
      // Two commands are under way one after the other; the signal comes within the first.
      await waitFor(/begun: count/);
      child.kill(signal);
      assert.equal(await code, 0);
      const texts = textsOf(output()).slice(-4);
      assert.equal(
        texts[0],
        `${signal}: leaving once what was accepted has ended; a second signal leaves at once`,
      );
      assert.match(texts[1] ?? "", /^count: cuDeviceGetCount = 2/);
      assert.ok(texts[2]?.startsWith(`${signal}: leaving REPL — no teardown`));
      assert.equal(texts[3], "owner REPL exiting");
    });
  }

  test("a second signal leaves at once, whatever is under way", async () => {
    const options = { delayMs: 30_000 };
    const { child, output, waitFor, code } = startFake(["owner"], { folder, options });
    await waitFor(/ready/);
    child.stdin.write("count\n");
    await waitFor(/begun: count/);
    child.kill("SIGTERM");
    await waitFor(/SIGTERM: leaving once/);
    child.kill("SIGINT");
    assert.equal(await code, 130, "as a shell says of SIGINT, unlike after a drain");
    const texts = textsOf(output()).slice(-3);
    assert.equal(texts[0], "SIGINT, the second: leaving at once");
    assert.ok(texts[1]?.startsWith("SIGINT: leaving REPL — no teardown"));
    assert.equal(texts[2], "owner REPL exiting");
  });
});

suite("owner that cannot be had", () => {
  test("no device is 3, not supported is 2, each with one line", () => {
    for (const [code, expected] of [
      ["no_device", 3],
      ["not_supported", 2],
    ] as const) {
      const options = { refuse: { code, message: "there is none; get one" } };
      const run = runFake(["owner"], { folder, options });
      assert.equal(run.code, expected);
      assert.equal(run.errors, "holdfast: there is none; get one\n");
    }
  });

  test("a bug is 70, with one line and a stack on stderr", () => {
    const options = { hasBug: true };
    const run = runFake(["owner"], { folder, options, input: "status\n" });
    assert.equal(run.code, 70);
    const [first, ...stack] = run.errors.split("\n");
    assert.equal(first, "holdfast: bug: a bug in two lines");
    assert.ok(stack.some((line) => /^\s+at .*fake-main/.test(line)));
  });
});

const hasScript = spawnSync("script", ["--version"]).status === 0;

suite(
  "owner at a terminal",
  { skip: hasScript ? false : "util-linux's script is not here" },
  () => {
    /** Types into a pseudo-terminal and returns what it showed. */
    function type(keys: readonly string[], options: object = {}): string {
      const typing = keys.map((key) => `printf '${key}'; sleep 0.4;`).join(" ");
      const command = `"$NODE" "$MAIN" owner`;
      const script = `{ sleep 1.5; ${typing} } | script -qec '${command}' /dev/null`;
      const env = {
        ...process.env,
        NODE: process.execPath,
        MAIN: FAKE_MAIN,
        TERM: "xterm",
        FAKE_OWNER: JSON.stringify(options),
        XDG_STATE_HOME: join(folder, "terminal-state"),
      };
      return spawnSync("bash", ["-c", script], { encoding: "utf8", env, timeout: 30_000 }).stdout;
    }

    test("Tab completes commands and dies, and the line is remembered", () => {
      const shown = type(["onl", "\\t", "1\\r", "quit\\r"]);
      assert.match(shown, /online 1: OK/);
      assert.match(shown, /quit: leaving REPL/);
      const history = join(folder, "terminal-state", "holdfast", "repl-history");
      assert.ok(existsSync(history));
      assert.equal(readFileSync(history, "utf8"), "online 1\nquit\n");
    });

    test("the up key brings back a line of the last session", () => {
      assert.match(type(["\\033[A\\033[A\\r", "quit\\r"]), /online 1: OK/);
    });

    test("Ctrl-D leaves", () => {
      assert.match(
        type(["\\004"]),
        /end of input: leaving REPL — no teardown[^]*owner REPL exiting/,
      );
    });

    test("Ctrl-C within a command waits for its end, and a second one does not", () => {
      const once = type(["count\\r", "\\003"], { delayMs: 1500 });
      assert.match(once, /SIGINT: leaving once[^]*count: cuDeviceGetCount/);
      assert.match(once, /SIGINT: leaving REPL — no teardown[^]*owner REPL exiting/);
      const twice = type(["count\\r", "\\003", "\\003"], { delayMs: 20_000 });
      assert.match(twice, /the second: leaving at once[^]*owner REPL exiting/);
      assert.doesNotMatch(twice, /count: cuDeviceGetCount/);
    });

    test("Ctrl-C clears what is typed; on an empty line it leaves", () => {
      const shown = type(["garbage\\003", "count\\r", "\\003"]);
      assert.match(shown, /count: cuDeviceGetCount/);
      assert.doesNotMatch(shown, /unknown command/);
      assert.match(shown, /owner REPL exiting/);
    });
  },
);
