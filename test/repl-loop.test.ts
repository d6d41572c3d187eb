// The command loop over an owner in memory: what each line of input makes of the log.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { executeLine, linesOf, runRepl } from "../src/repl/mod.ts";
import { createFakeOwner, type FakeOwner, type FakeOwnerOptions } from "./fakes/fake-owner.ts";

type Session = { readonly owner: FakeOwner; readonly lines: readonly string[] };

async function session(
  input: string | readonly Uint8Array[],
  options?: FakeOwnerOptions,
): Promise<Session> {
  const chunks = typeof input === "string" ? [new TextEncoder().encode(input)] : input;
  // eslint-disable-next-line @typescript-eslint/require-await
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  const owner = createFakeOwner(options);
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const names = { sourceName: "stdin", logName: "stdout" };
  const asked = new Promise<string>(() => undefined);
  await runRepl({ owner, log, asked, lines: linesOf(source()), ...names });
  return { owner, lines };
}

/** What the session logged between its first line and its last ones. */
async function answers(input: string, options?: FakeOwnerOptions): Promise<readonly string[]> {
  const { lines } = await session(`${input}\nquit\n`, options);
  assert.match(lines[0] ?? "", /^owner REPL ready \(fifo=stdin log=stdout\) — type 'help'$/);
  assert.match(lines.at(-2) ?? "", /^quit: leaving REPL — no teardown/);
  assert.equal(lines.at(-1), "owner REPL exiting");
  return lines.slice(1, -2);
}

test("loop: the whole life of two dies", async () => {
  const input = [
    ...["discover", "online 0", "online 1", "probe 1", "swap 0", "work 0 0x2a 1000"],
    ...["work 1 7 5", "swap 0", "read 0", "read 1", "count", "status"],
  ];
  const lines = await answers(input.join("\n"));
  const starts = [
    "discover: 2 dies; slot occupant idx=-1 (none)",
    ...[" die[0] = fake:0", " die[1] = fake:1"],
    ...["online 0: OK (ordinal=0 in=0x1000 out=0x401000 ", "online 1: OK (ordinal=1 "],
    "probe 1: OK (bdf=fake:1 bound_now=0) cuDeviceGetCount = 2",
    "swap 0: OK (moved=1 ",
    "work 0: launched (seed=0x0000002a iters=1000 grid=4096) — not synced",
    "work 1: launched (seed=0x00000007 iters=5 grid=4096) — not synced",
    "swap 0: OK (moved=0 ",
    "read 0: PASS (sample out[0]=1042.0 out[1048575]=1000.0, expect in+1000)",
    "read 1: PASS (sample out[0]=12.0 out[1048575]=5.0, expect in+5)",
    "count: cuDeviceGetCount = 2 (",
    "status: active_die=0 nvidia_loaded=1 cuda_inited=1 backend=soft slot=sim",
    ...[" die  0: online=1 bound=1 ctx_valid=1 ordinal=0", " die  1: online=1"],
  ];
  assert.equal(lines.length, starts.length);
  starts.forEach((start, index) => {
    assert.ok(lines[index]?.startsWith(start), `${String(lines[index])} begins with ${start}`);
  });
});

test("loop: a wrong element is a FAIL, with where and what", async () => {
  const lines = await answers("online 0\nwork 0 1 3\nread 0", { isWrong: true });
  assert.match(
    lines[2] ?? "",
    /^read 0: FAIL \(.*\) bad=1 .* first_bad=7 expected=3.0 actual=nan$/,
  );
});

const ONE_LINE: readonly { input: string; answer: RegExp }[] = [
  { input: "frob", answer: /^unknown command 'frob' — try 'help'$/ },
  { input: "online", answer: /^online: missing <die>/ },
  { input: "online 1x", answer: /^online 1x: bad die '1x' \(range 0\.\.31\)/ },
  { input: "online 99", answer: /^online 99: bad die '99' \(range 0\.\.31\)/ },
  { input: "online -1", answer: /^online -1: bad die '-1'/ },
  { input: "online 5", answer: /^online 5: no such die; 'discover' lists them$/ },
  { input: "work 0", answer: /^work 0: missing <seed>/ },
  { input: "work 0 1 5", answer: /^work 0: die not online — run 'online 0' first$/ },
  { input: "work 0 -1 5", answer: /bad seed '-1'/ },
  { input: "work 0 1 -5", answer: /bad iters '-5'/ },
  { input: "work 0 1 16777216", answer: /bad iters '16777216'/ },
  { input: "work 0 1 1e30", answer: /bad iters '1e30'/ },
  { input: "work 0 1 1.5", answer: /bad iters '1\.5'/ },
  { input: "work 0 1 5 9", answer: /surplus argument '9'/ },
  { input: "read 0", answer: /^read 0: run 'work' first$/ },
  { input: "a".repeat(10_000), answer: /^input line over 4096 bytes refused/ },
  { input: "sta\0tus", answer: /^input line with a NUL byte refused/ },
  { input: "\x1b]0;title\x07", answer: /^unknown command '\\x1b\]0;title\\x07' — try 'help'$/ },
  { input: "count\r", answer: /^count: / },
  { input: "\n\r\n  \t\ncount", answer: /^count: / },
];

for (const { input, answer } of ONE_LINE) {
  test(`loop: one line for ${JSON.stringify(input.slice(0, 40))}, and on it goes`, async () => {
    const lines = await answers(`${input}\ncount`);
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? "", answer);
    assert.match(lines[1] ?? "", /^count: cuDeviceGetCount = 2/);
    assert.doesNotMatch(lines.join("\n"), /PASS|FAIL/);
  });
}

test("loop: a line that is no UTF-8 is one line, and the loop goes on", async () => {
  const { lines } = await session([Uint8Array.of(0xc3, 0x28, 0x0a), Buffer.from("count\nquit\n")]);
  assert.match(lines[1] ?? "", /^input line that is no UTF-8 refused/);
  assert.match(lines[2] ?? "", /^count: /);
});

test("loop: help names every command", async () => {
  const [first, ...rest] = await answers("help");
  const usages = [
    ...["discover", "online <die>", "probe <die>", "swap <die>", "work <die> <seed> <iters>"],
    ...["read <die>", "count", "status", "retry <die>", "help"],
    ...["drain", "park", "resume", "teardown", "shutdown|quit|exit"],
  ];
  assert.equal(first, `commands: ${usages.join(" | ")}`);
  assert.equal(rest.length, usages.length);
});

test("loop: shutdown and quit stop it, and what follows is not executed", async () => {
  for (const word of ["shutdown", "quit", "exit"]) {
    const { owner, lines } = await session(`count\n${word}\ncount\n`);
    assert.deepEqual(owner.calls, [">count", "<count"]);
    assert.ok(lines.at(-2)?.startsWith(`${word}: leaving REPL`));
  }
});

test("loop: the end of input leaves as quit does, after the last line without an end", async () => {
  const { lines } = await session("count");
  assert.match(lines[1] ?? "", /^count: /);
  assert.match(lines[2] ?? "", /^end of input: leaving REPL — no teardown/);
  assert.equal(lines[3], "owner REPL exiting");
});

test("loop: after a teardown it does not leave as if there had been none", async () => {
  const { lines } = await session("online 0\nteardown\n");
  assert.equal(lines.at(-2), "end of input: leaving REPL — torn down before (no die is resident)");
  const again = await session("online 0\nteardown\nresume\nonline 0\nquit\n");
  assert.match(again.lines.at(-2) ?? "", /^quit: leaving REPL — no teardown \(dies stay resident/);
});

test("loop: a line leaves nothing behind in what outlives it", async () => {
  const asked = new Promise<string>(() => undefined);
  let reactions = 0;
  const then = asked.then.bind(asked);
  void Object.defineProperty(asked, "then", {
    value: (...taken: Parameters<typeof then>) => {
      reactions += 1;
      return then(...taken);
    },
  });
  const lines = linesOf(Readable.from([Buffer.from("help\n".repeat(50))]));
  const log = (): void => undefined;
  const names = { sourceName: "stdin", logName: "stdout" };
  await runRepl({ owner: createFakeOwner(), log, asked, lines, ...names });
  assert.equal(reactions, 1);
});

test("loop: who asks goes before lines that are there; who insists has the last word", async () => {
  for (const hasInsisted of [false, true]) {
    const logged: string[] = [];
    const owner = createFakeOwner();
    await runRepl({
      owner,
      log: (line) => void logged.push(line),
      asked: Promise.resolve("SIGTERM"),
      hasInsisted: () => hasInsisted,
      lines: linesOf(Readable.from([Buffer.from("count\n")])),
      ...{ sourceName: "stdin", logName: "stdout" },
    });
    assert.deepEqual(owner.calls, ["drain"]);
    assert.equal(logged.length, hasInsisted ? 1 : 3);
  }
});

test("loop: commands of one chunk are done strictly one after the other", async () => {
  const { owner } = await session("online 0\nwork 0 1 2\nread 0\ncount\n", { delayMs: 5 });
  const names = ["online 0", "work 0", "read 0", "count"];
  assert.deepEqual(
    owner.calls,
    names.flatMap((name) => [`>${name}`, `<${name}`]),
  );
});

test("loop: an owner that throws has a bug, which is not swallowed", async () => {
  const owner = { ...createFakeOwner(), count: () => Promise.reject(new Error("bug")) };
  const log = (): void => undefined;
  await assert.rejects(executeLine({ owner, log }, { kind: "text", text: "count" }), /bug/);
});
