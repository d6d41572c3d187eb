import assert from "node:assert/strict";
import { test } from "node:test";

import { systemClock, VirtualClock, type EventClock } from "../base/mod.ts";
import { encodeFrame, type HostMessage, type HostRequest } from "./frames.ts";
import { openHostLink, type HostLink, type HostTransport } from "./host-link.ts";
import type { Job, JobResult } from "./job.ts";

const job: Job = {
  module: { name: "m.ptx", path: "/m.ptx" },
  entry: "k",
  grid: [1, 1, 1],
  block: [1, 1, 1],
  sharedBytes: 0,
  arguments: [],
  timeoutMs: 500,
};

/** A host that says only what the test makes it say. */
type Puppet = {
  readonly link: HostLink;
  readonly requests: HostRequest[];
  readonly say: (message: HostMessage) => void;
  readonly sayBytes: (bytes: Buffer) => void;
  readonly end: (how: string) => void;
  readonly kills: () => number;
};

function createPuppet(clock: EventClock = systemClock): Puppet {
  const requests: HostRequest[] = [];
  let data: (chunk: Buffer) => void = () => undefined;
  let ended: (how: string) => void = () => undefined;
  let kills = 0;
  const transport: HostTransport = {
    pid: 42,
    write: (frame) => void requests.push(JSON.parse(frame.toString("utf8", 4)) as HostRequest),
    onData: (listener) => void (data = listener),
    onEnd: (listener) => void (ended = listener),
    kill: () => void (kills += 1),
  };
  return {
    link: openHostLink(transport, { clock, onNote: () => undefined }),
    requests,
    say: (message) => data(encodeFrame(message)),
    sayBytes: (bytes) => data(bytes),
    end: (how) => ended(how),
    kills: () => kills,
  };
}

const okResult: JobResult = {
  status: "ok",
  device: "d",
  measures: { kernelNs: 1, wallNs: 2, bytesIn: 3, bytesOut: 4 },
  proof: null,
};

test("a call gets its own reply, whatever the order", async () => {
  const { link, say } = createPuppet();
  const [first, second] = [link.call("count", {}), link.call("count", {})];
  say({ id: 2, kind: "reply", body: { devices: 2 } });
  say({ id: 1, kind: "reply", body: { devices: 1 } });
  assert.deepEqual(await first, { ok: true, value: { devices: 1 } });
  assert.deepEqual(await second, { ok: true, value: { devices: 2 } });
});

test("a started job is launched first and finished later", async () => {
  const { link, say } = createPuppet();
  const { launched, finished } = link.start(0, job);
  say({ id: 1, kind: "reply", body: {} });
  assert.ok((await launched).ok);
  say({ id: 1, kind: "finished", result: okResult });
  assert.deepEqual(await finished, okResult);
});

test("a job that was refused before its launch settles both", async () => {
  const { link, say } = createPuppet();
  const { launched, finished } = link.start(0, job);
  const cause = { name: "argument_count", code: 0, call: "packParameters", message: "no" };
  say({ id: 1, kind: "finished", result: { status: "refused", cause } });
  assert.deepEqual(await launched, { ok: false, error: { kind: "refused", cause } });
  assert.deepEqual(await finished, { status: "refused", cause });
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a host that is stuck past a job's timeout does not keep the job waiting", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { link, say } = createPuppet();
  const { launched, finished } = link.start(0, job);
  say({ id: 1, kind: "reply", body: {} });
  await launched;
  let result: JobResult | null = null;
  void finished.then((value) => (result = value));
  context.mock.timers.tick(1499);
  await turn();
  assert.equal(result, null);
  context.mock.timers.tick(1);
  await turn();
  assert.equal((await finished).status, "timeout");
});

const silences: readonly (readonly [name: string, job: Job, silenceMs: number])[] = [
  [
    "80 MiB of output",
    {
      ...job,
      payload: {
        input: null,
        output: { path: "/out", bytes: 80 * 2 ** 20, placement: "rename" },
      },
    },
    11_740,
  ],
  ["a timeout longer than any timer", { ...job, timeoutMs: 2 ** 32 - 1 }, 2 ** 31 - 1],
];

for (const [name, started, silenceMs] of silences) {
  test(`a job with ${name} may be silent for ${silenceMs} ms`, async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { link, say } = createPuppet();
    const { launched, finished } = link.start(0, started);
    say({ id: 1, kind: "reply", body: {} });
    await launched;
    let isFinished = false;
    void finished.then(() => (isFinished = true));
    context.mock.timers.tick(silenceMs - 1);
    await turn();
    assert.equal(isFinished, false);
    context.mock.timers.tick(1);
    await turn();
    assert.equal(isFinished, true);
  });
}

test("a job whose host never launches it is told, once its turn has come", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { link, say } = createPuppet();
  const [first, second] = [link.start(0, job), link.start(0, job)];
  const ends: string[] = [];
  void first.finished.then(({ status }) => ends.push(`first ${status}`));
  void second.finished.then(({ status }) => ends.push(`second ${status}`));
  await turn();
  context.mock.timers.tick(59_999);
  await turn();
  assert.deepEqual(ends, []);
  say({ id: 1, kind: "reply", body: {} });
  await turn();
  say({ id: 1, kind: "finished", result: okResult });
  await turn();
  assert.deepEqual(ends, ["first ok"], "the second's time begins now");
  context.mock.timers.tick(59_999);
  await turn();
  assert.deepEqual(ends, ["first ok"]);
  context.mock.timers.tick(1);
  await turn();
  assert.deepEqual(ends, ["first ok", "second timeout"]);
  const result = await second.finished;
  assert.ok(result.status === "timeout");
  assert.equal(result.cause.name, "host_stuck");
});

test("when the host ends, everything in flight is told how", async () => {
  const { link, end } = createPuppet();
  const call = link.call("count", {});
  const { launched, finished } = link.start(0, job);
  end("was killed by SIGKILL");
  const failed = await call;
  assert.ok(!failed.ok && failed.error.kind === "lost");
  assert.match(failed.error.cause.message, /die host 42 was killed by SIGKILL/);
  assert.equal((await launched).ok, false);
  assert.equal((await finished).status, "lost");
  assert.equal((await link.start(0, job).finished).status, "lost");
  assert.equal((await link.died).name, "die_host_died");
});

test("kill() tells its cause at once; what the host says then does not count", async () => {
  const { link, say, end, kills } = createPuppet();
  const { finished } = link.start(0, job);
  const cause = { name: "timeout", code: 702, call: "cuLaunchKernel", message: "too long" };
  link.kill(cause);
  assert.deepEqual(await finished, { status: "lost", cause });
  assert.equal(kills(), 1);
  say({ id: 1, kind: "finished", result: okResult });
  end("was killed by SIGKILL");
  assert.deepEqual(await link.died, cause);
});

for (const [how, endOfFirst, wasWaiting] of [
  ["the control: the first one went well", okResult, undefined],
  ["the first one takes the host with it", "timeout", true],
  ["the host dies under the first one", null, true],
] as const) {
  const told = wasWaiting === undefined ? "had its turn" : "was waiting";
  test(`a second job of a lost host ${told}: ${how}`, async () => {
    const { link, say, end } = createPuppet();
    const cause = { name: "timeout", code: 702, call: "cuLaunchKernel", message: "too long" };
    const [first, second] = [link.start(0, job), link.start(0, job)];
    if (endOfFirst !== null) {
      const result = endOfFirst === "timeout" ? { status: endOfFirst, cause } : endOfFirst;
      say({ id: 1, kind: "finished", result });
      await first.finished;
      // The owner ends the host some turns later.
      await new Promise((resolve) => setImmediate(resolve));
    }
    end("was killed by SIGKILL");
    const result = await second.finished;
    assert.ok(result.status === "lost");
    assert.equal(result.wasWaiting, wasWaiting);
    const firstResult = await first.finished;
    assert.ok(firstResult.status === "ok" || firstResult.wasWaiting === undefined);
  });
}

test("a host that sends what is no frame is ended", async () => {
  const { link, sayBytes, kills } = createPuppet();
  const call = link.call("count", {});
  sayBytes(Buffer.alloc(8, 0xff));
  assert.equal((await call).ok, false);
  assert.equal(kills(), 1);
});

test("a host that does not answer a call is ended, and everybody is told", async () => {
  const clock = new VirtualClock();
  const { link, kills } = createPuppet(clock);
  let opened: unknown = null;
  void link.call("initialise", {}).then((result) => (opened = result));
  assert.equal(await clock.run(() => opened !== null, 119_000), "late");
  assert.equal(await clock.run(() => opened !== null, 121_000), "done");
  assert.equal(kills(), 1);
  const { cause } = await link.died.then((told) => ({ cause: told }));
  assert.equal(cause.name, "host_stuck");
  assert.deepEqual(opened, { ok: false, error: { kind: "lost", cause } });
});

test("a call's time begins once the die's jobs have ended, and ends with its answer", async () => {
  const clock = new VirtualClock();
  const { link, say, kills } = createPuppet(clock);
  let isRead = false;
  const { finished } = link.start(0, { ...job, timeoutMs: 600_000 });
  void link.call("memory", { die: 0 }).then(() => (isRead = true));
  say({ id: 1, kind: "reply", body: {} });
  assert.equal(await clock.run(() => kills() > 0, 500_000), "late");
  say({ id: 1, kind: "finished", result: okResult });
  await finished;
  say({ id: 2, kind: "reply", body: { freeBytes: 1, totalBytes: 1 } });
  assert.equal(await clock.run(() => kills() > 0, Infinity), "idle");
  assert.ok(isRead);
});
