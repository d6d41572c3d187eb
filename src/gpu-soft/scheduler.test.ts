import assert from "node:assert/strict";
import { test } from "node:test";
import { DeviceClock } from "./device-clock.ts";
import type { AcceptedLaunch, Executor, ExecutorState } from "./executor.ts";
import { Scheduler, type StreamQueue, type Work } from "./scheduler.ts";

/** Does nothing by itself: launches begin and end when the test says so. */
class FakeExecutor implements Executor {
  isUp = true;
  isClosed = false;
  readonly begun: string[] = [];
  #state: ExecutorState = { kind: "idle" };

  isReady = (): boolean => this.isUp;

  begin = (launch: AcceptedLaunch): void => {
    assert.equal(this.#state.kind, "idle", "one launch at a time");
    this.begun.push(launch.kernelName);
    this.#state = { kind: "running" };
  };

  poll = (): ExecutorState => {
    const state = this.#state;
    if (state.kind === "done") this.#state = { kind: "idle" };
    return state;
  };

  drop = (): void => {
    // Kernels are not kept here.
  };

  close = (): Promise<void> => {
    this.isClosed = true;
    return Promise.resolve();
  };

  end(endNs = 0): void {
    this.#state = { kind: "done", endNs };
  }

  fail(): void {
    const loss = { code: 700, errorName: "CUDA_ERROR_ILLEGAL_ADDRESS", detail: "there" };
    this.#state = { kind: "lost", loss };
  }
}

type Desk = {
  readonly executor: FakeExecutor;
  readonly scheduler: Scheduler;
  readonly done: string[];
  /** Queues host work that takes so many slices, and notes its name when it is done. */
  readonly host: (stream: StreamQueue, name: string, slices?: number) => void;
  readonly launch: (stream: StreamQueue, name: string) => void;
};

function desk(): Desk {
  const executor = new FakeExecutor();
  const scheduler = new Scheduler(executor, new DeviceClock());
  const done: string[] = [];
  const host = (stream: StreamQueue, name: string, slices = 1): void => {
    let left = slices;
    const step = (): boolean => {
      left -= 1;
      if (left === 0) done.push(name);
      return left === 0;
    };
    scheduler.enqueue(stream, { kind: "host", step });
  };
  const launch = (stream: StreamQueue, name: string): void => {
    // The scheduler hands a launch on without looking into it.
    const accepted = { kernelName: name } as AcceptedLaunch;
    scheduler.enqueue(stream, { kind: "launch", launch: accepted } satisfies Work);
  };
  return { executor, scheduler, done, host, launch };
}

test("a stream's work is done in order, and what stands at its front at once", () => {
  const { executor, scheduler, done, host, launch } = desk();
  const stream = scheduler.createStream();
  host(stream, "first");
  assert.deepEqual(done, ["first"]);
  launch(stream, "kernel");
  host(stream, "second");
  assert.deepEqual([executor.begun, done], [["kernel"], ["first"]]);
  assert.equal(scheduler.isIdle(stream), false);
  executor.end();
  scheduler.pump();
  assert.deepEqual(done, ["first", "second"]);
  assert.equal(scheduler.isIdle(stream), true);
});

test("launches of several streams are executed one at a time, in the order of queueing", () => {
  const { executor, scheduler, launch, host, done } = desk();
  const [a, b, c] = [scheduler.createStream(), scheduler.createStream(), scheduler.createStream()];
  launch(c, "c1");
  launch(b, "b1");
  launch(c, "c2");
  launch(a, "a1");
  // Other streams' copies need not wait for the kernel.
  const d = scheduler.createStream();
  host(d, "copy");
  assert.deepEqual(done, ["copy"]);
  for (let turn = 0; turn < 4; turn += 1) {
    executor.end();
    scheduler.pump();
  }
  assert.deepEqual(executor.begun, ["c1", "b1", "c2", "a1"]);
  for (const stream of [a, b, c]) assert.equal(scheduler.isIdle(stream), true);
});

test("a launch waits until the workers are up", () => {
  const { executor, scheduler, launch } = desk();
  executor.isUp = false;
  const stream = scheduler.createStream();
  launch(stream, "early");
  assert.deepEqual(executor.begun, []);
  executor.isUp = true;
  scheduler.pump();
  assert.deepEqual(executor.begun, ["early"]);
});

test("long host work goes on in later turns of the event loop, without being asked", async () => {
  const { scheduler, host, done } = desk();
  const [long, short] = [scheduler.createStream(), scheduler.createStream()];
  host(long, "long", 5);
  assert.deepEqual(done, []);
  host(short, "short");
  assert.deepEqual(done, ["short"]);
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(done, ["short", "long"]);
});

test("an event's time is when the work before it ended, not when somebody asked", () => {
  const { executor, scheduler, launch } = desk();
  const stream = scheduler.createStream();
  const times: number[] = [];
  launch(stream, "kernel");
  scheduler.enqueue(stream, { kind: "record", reach: (timeNs) => times.push(timeNs) });
  assert.deepEqual(times, []);
  executor.end(9e15);
  scheduler.pump();
  assert.deepEqual(times, [9e15]);
});

test("what must wait for queued work waits for that, and for nothing queued later", () => {
  const { executor, scheduler, launch } = desk();
  const [a, b] = [scheduler.createStream(), scheduler.createStream()];
  const called: string[] = [];
  scheduler.afterQueued(() => called.push("nothing queued"));
  launch(a, "a1");
  launch(b, "b1");
  scheduler.afterQueued(() => called.push("after a1 and b1"));
  launch(a, "a2");
  executor.end();
  scheduler.pump();
  assert.deepEqual(called, ["nothing queued"]);
  executor.end();
  scheduler.pump();
  assert.deepEqual(executor.begun, ["a1", "b1", "a2"]);
  assert.deepEqual(called, ["nothing queued", "after a1 and b1"]);
});

test("a closed stream's work is still done", () => {
  const { executor, scheduler, host, launch, done } = desk();
  const stream = scheduler.createStream();
  launch(stream, "kernel");
  host(stream, "copy");
  scheduler.closeStream(stream);
  executor.end();
  scheduler.pump();
  assert.deepEqual(done, ["copy"]);
  assert.throws(() => {
    host(stream, "late");
  }, /open stream/);
});

test("after a loss nothing is done any more, and the workers are ended", () => {
  const { executor, scheduler, host, launch, done } = desk();
  const [stream, other] = [scheduler.createStream(), scheduler.createStream()];
  launch(stream, "kernel");
  host(stream, "behind");
  executor.fail();
  scheduler.pump();
  host(other, "elsewhere");
  assert.deepEqual(done, []);
  assert.equal(scheduler.loss?.code, 700);
  assert.equal(executor.isClosed, true);
});
