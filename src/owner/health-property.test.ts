// Random notices, faults, kills and commands, in virtual time: nothing is stuck, nothing is ready
// that does not answer, health moves no window, and what clears comes back.
import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import type { BoardEvent, BoardVerdict } from "../board/mod.ts";
import { FAULT_NAMES_MAX } from "./fault-counts.ts";
import { HEALTH_PERIOD_MS, RETRY_MS_MAX } from "./health.ts";
import { addressOfDie, createBoardBench, type BoardBench } from "./testing-board.ts";

const DIES = 3;

type Command =
  | { readonly name: "online" | "work" | "read" | "swap"; readonly die: number }
  | { readonly name: "event"; readonly event: BoardEvent }
  | { readonly name: "offBus" | "onBus" | "wrong" | "right"; readonly die: number }
  | { readonly name: "failNext"; readonly step: string; readonly verdict: BoardVerdict }
  | { readonly name: "kill" | "status" }
  | { readonly name: "pass"; readonly ms: number };

const die = fc.integer({ min: 0, max: DIES - 1 });

const event: fc.Arbitrary<BoardEvent> = fc.record({
  die: fc.option(die),
  kind: fc.constantFrom("xid", "off_bus", "init_failed", "slot_lost"),
  xid: fc.constantFrom(13, 31, 45, 48, 63, 74, 79, 95, 4711),
  text: fc.string({ maxLength: 8 }),
});

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ name: fc.constantFrom("online", "work", "read", "swap"), die }),
  fc.record({ name: fc.constant("event" as const), event }),
  fc.record({ name: fc.constantFrom("offBus", "onBus", "wrong", "right"), die }),
  fc.record({
    name: fc.constant("failNext" as const),
    step: fc.constantFrom("acquire 0", "acquire 1", "bind 1", "unblock 2", "load-driver"),
    verdict: fc.constantFrom("refused", "hung", "lost"),
  }),
  fc.record({ name: fc.constantFrom("kill", "status") }),
  fc.record({ name: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 90_000 }) }),
);

/** What an operator may expect. */
type Model = {
  /** Came online once: brought back from then on. */
  readonly wanted: Set<number>;
  /** Some kernel may have come out wrong. */
  wasWrong: boolean;
};

async function take(bench: BoardBench, model: Model, step: Command): Promise<void> {
  const { owner, script } = bench;
  switch (step.name) {
    case "online":
    case "read":
    case "swap": {
      const done = await bench.take<{ readonly ok: boolean }>(owner[step.name](step.die));
      if (done.ok && step.name === "online") model.wanted.add(step.die);
      if (!done.ok || step.name !== "read") return;
      const read = await bench.take(owner.read(step.die));
      assert.ok(!read.ok || model.wasWrong || read.value.pass, "a result stays right");
      return;
    }
    case "work":
      await bench.take(owner.work(step.die, 7, 8));
      return;
    case "event":
      bench.emit(step.event);
      return;
    case "offBus":
      script.presence.set(step.die, "off_bus");
      return;
    case "onBus":
      script.presence.delete(step.die);
      return;
    case "wrong":
      script.wrong.add(addressOfDie(step.die));
      model.wasWrong = true;
      return;
    case "right":
      script.wrong.delete(addressOfDie(step.die));
      return;
    case "failNext": {
      const [call = ""] = step.step.split(" ");
      script.failNext.set(step.step, { verdict: step.verdict, call, message: "scripted" });
      return;
    }
    case "kill":
      bench.killHosts();
      return;
    case "status":
      await bench.take(owner.status());
      return;
    case "pass": {
      const steps = script.steps.length;
      await bench.pass(step.ms);
      assert.equal(script.steps.length, steps, "health moves no window and binds nothing");
    }
  }
}

async function checkStatus(bench: BoardBench): Promise<void> {
  const status = await bench.take(bench.owner.status());
  assert.ok(status.faults.length <= FAULT_NAMES_MAX);
  for (const each of status.dies) {
    if (each.ready) assert.equal(each.state, "online");
    assert.ok(each.faults.length <= FAULT_NAMES_MAX);
  }
}

for (const slot of ["sim", "direct"] as const) {
  test(`${slot}: whatever is noticed and fails, what clears comes back`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 25 }), async (commands) => {
        const bench = createBoardBench({ slot, dies: DIES });
        const { owner, script } = bench;
        const model: Model = { wanted: new Set(), wasWrong: false };
        for (const step of commands) {
          await take(bench, model, step);
          await checkStatus(bench);
        }
        script.presence.clear();
        script.wrong.clear();
        script.failNext.clear();
        owner.retry(null);
        await bench.pass(RETRY_MS_MAX + 2 * HEALTH_PERIOD_MS);
        const { dies } = await bench.take(owner.status());
        for (const number of slot === "direct" ? model.wanted : []) {
          assert.equal(dies[number]?.ready, true, `die ${String(number)} came back by itself`);
        }
        for (let number = 0; number < DIES; number++) {
          const online = await bench.take(owner.online(number));
          assert.ok(online.ok, online.ok ? "" : online.error.message);
          assert.ok((await bench.take(owner.work(number, 1, 2))).ok);
          const read = await bench.take(owner.read(number));
          assert.ok(read.ok && read.value.pass);
        }
        await checkStatus(bench);
        void owner.leave();
      }),
      { numRuns: 40 },
    );
  });
}
