// The board over a kernel of the tests' own: the slot as include/holdfast/bar_swap.h has it, sysfs
// as it was measured. A control stands beside each failure.
import assert from "node:assert/strict";
import { constants } from "node:os";
import { test } from "node:test";
import { VirtualClock } from "../base/mod.ts";
import { createBarSwapBoard, type BarSwapBoard } from "./bar-swap-board.ts";
import type { BoardEvent, Inventory } from "./board.ts";
import type { StepOutcome } from "./board-step.ts";
import { createTreeKernel, type TreeKernel } from "./testing-kernel.ts";
import { addFunction, addProcess, createSysTree, GK210_RESOURCE, type SysTree } from "./testing.ts";

const ADDRESSES = ["0000:05:00.0", "0000:06:00.0", "0000:07:00.0"] as const;
const { errno } = constants;

/** The process of the first runner that takes a step is the slot's. */
const SLOT_PID = 70_001;

const noInventory: Inventory = () => {
  assert.fail("a windowed board asks no driver");
};

class Bench {
  readonly tree: SysTree = createSysTree();
  readonly kernel: TreeKernel = createTreeKernel(this.tree, ADDRESSES);
  readonly clock = new VirtualClock();
  readonly board: BarSwapBoard;
  readonly events: BoardEvent[] = [];

  constructor() {
    const { tree, kernel, clock } = this;
    for (const name of ADDRESSES) addFunction(tree, name);
    addProcess(tree, { pid: 1, command: "init", open: [] });
    this.board = createBarSwapBoard({
      root: tree.root,
      devicePath: "/dev/bar_swap",
      launchStep: kernel.launch,
      clock,
      log: () => undefined,
      ownerPid: 500,
      openKernelLog: () => ({ read: () => 0, close: () => undefined }),
    });
  }

  async settled<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    void promise.then(() => (isDone = true));
    assert.equal(await this.clock.run(() => isDone, Infinity), "done");
    return promise;
  }

  async succeeds<T>(step: Promise<StepOutcome<T>>): Promise<T> {
    const done = await this.settled(step);
    assert.ok(done.ok, done.ok ? "" : done.error.message);
    return done.value;
  }

  async fails(step: Promise<StepOutcome<unknown>>, verdict: string, told: RegExp): Promise<void> {
    const done = await this.settled(step);
    assert.ok(!done.ok, "it succeeded");
    assert.match(done.error.message, told);
    assert.equal(done.error.verdict, verdict, done.error.message);
  }

  discover(): Promise<unknown> {
    return this.succeeds(this.board.discover(noInventory));
  }

  /** The slot's calls so far. */
  slotCalls(): readonly string[] {
    return this.kernel.steps.filter((step) => /^slotMove/.test(step));
  }

  /** Events that come within so long. */
  async eventsWithin(ms: number): Promise<readonly BoardEvent[]> {
    const before = this.events.length;
    await this.settled(this.clock.sleep(ms));
    return this.events.slice(before);
  }
}

async function withBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = new Bench();
  try {
    await body(bench);
  } finally {
    bench.tree.end();
  }
}

test("the dies are those that the slot counts, and no driver is asked for them", async () => {
  await withBench(async (bench) => {
    bench.tree.remove(`sys/bus/pci/devices/${ADDRESSES[2]}`);
    assert.deepEqual(await bench.discover(), [
      { die: 0, address: "0000:05:00.0", name: "GK210 (Tesla K80)" },
      { die: 1, address: "0000:06:00.0", name: "GK210 (Tesla K80)" },
      { die: 2, address: "0000:07:00.0", name: "not on the bus" },
    ]);
    assert.equal(bench.board.occupant(0), null);
    assert.equal(bench.board.hostGroupOf(0), bench.board.hostGroupOf(2));
  });
});

test("a swap is a release and an acquire, and none for the die in the slot", async () => {
  await withBench(async (bench) => {
    const { board } = bench;
    await bench.discover();
    assert.deepEqual(await bench.succeeds(board.acquire(1)), {
      die: 1,
      bar1Address: 0x38_0000_0000n,
    });
    assert.equal(board.occupant(0), 1);
    await bench.succeeds(board.acquire(0));
    await bench.succeeds(board.acquire(0));
    assert.deepEqual(bench.slotCalls(), [
      ...["slotMove null 1", "slotMove 1 0", "slotMove null 0"],
    ]);
    assert.equal(bench.kernel.slot.acquires, 2);
    board.leave();
    assert.equal(bench.kernel.slot.occupant, 0, "nothing is released before the exit");
  });
});

test("what a dead owner left in the slot is adopted: free for the same die", async () => {
  await withBench(async (bench) => {
    const { slot } = bench.kernel;
    Object.assign(slot, { occupant: 2, holderPid: 4000 });
    await bench.discover();
    assert.equal(bench.board.occupant(0), 2);
    await bench.succeeds(bench.board.acquire(2));
    assert.deepEqual(bench.slotCalls(), ["slotMove null 2"]);
    assert.equal(slot.holderPid, SLOT_PID);
    Object.assign(slot, { holderPid: 4000 });
    await bench.succeeds(bench.board.acquire(0));
    assert.deepEqual(bench.slotCalls().slice(1), ["slotMove 2 0"]);
  });
});

test("a living holder outside of this container is refused, and nothing is released", async () => {
  await withBench(async (bench) => {
    for (const holderPid of [-2, 0]) {
      Object.assign(bench.kernel.slot, { occupant: 1, holderPid });
      await bench.discover();
      const told = /a process outside of this container holds it/;
      await bench.fails(bench.board.acquire(0), "refused", told);
    }
    assert.deepEqual(bench.slotCalls(), []);
  });
});

test("a living holder is refused by name, and one that goes is waited for", async () => {
  await withBench(async (bench) => {
    const { tree, kernel, clock, board } = bench;
    Object.assign(kernel.slot, { occupant: 1, holderPid: 4000 });
    addProcess(tree, { pid: 4000, command: "other", open: ["/dev/bar_swap"] });
    await bench.discover();
    await bench.fails(board.acquire(0), "refused", /die 1 .* pid 4000 \(other\) holds it; end/);
    await bench.fails(board.acquire(1), "refused", /pid 4000/);
    assert.deepEqual(bench.slotCalls(), []);
    clock.after(500, () => tree.remove("proc/4000"));
    await bench.succeeds(board.acquire(0));
    assert.deepEqual(bench.slotCalls(), ["slotMove 1 0"]);
  });
});

test("a die that the slot cannot map is refused, and the one before comes back", async () => {
  await withBench(async (bench) => {
    const { board, kernel } = bench;
    await bench.discover();
    await bench.succeeds(board.acquire(0));
    kernel.faults = { acquireErrno: { die: 1, errno: errno.EIO } };
    await bench.fails(board.acquire(1), "refused", /EIO \(errno 5\).*; die 0 is back in the slot/);
    assert.equal(board.occupant(0), 0);
    assert.equal(kernel.slot.occupant, 0);
    await bench.succeeds(board.acquire(2));
    kernel.faults = { acquireErrno: { die: 2, errno: errno.EIO } };
    await bench.succeeds(board.acquire(1));
  });
});

const UNASSIGNED = GK210_RESOURCE.replace(
  /0x0000003800000000 .*/,
  "0x0000000000000000 0x00000003ffffffff 0x000000002014220c",
);

test("a die in the slot must answer, and its BAR1 be where the kernel has it", async () => {
  await withBench(async (bench) => {
    const { board, tree } = bench;
    await bench.discover();
    const [name] = ADDRESSES;
    addFunction(tree, name, { isOffBus: true });
    await bench.fails(board.acquire(0), "lost", /does not answer: it fell off the bus/);
    assert.equal(board.occupant(0), 0, "it is in the slot all the same");
    addFunction(tree, name, { resource: UNASSIGNED });
    await bench.fails(board.acquire(0), "refused", /BAR1 at 0x3800000000, .* it is not assigned/);
    addFunction(tree, name, { resource: GK210_RESOURCE.replaceAll("38000", "39000") });
    await bench.fails(board.acquire(0), "refused", /for the kernel it is at 0x3900000000/);
    tree.remove(`sys/bus/pci/devices/${name}`);
    await bench.fails(board.acquire(0), "lost", /sysfs has no such device/);
    addFunction(tree, name);
    await bench.succeeds(board.acquire(0));
  });
});

test("a call that hangs is told with its process, and the next has another", async () => {
  await withBench(async (bench) => {
    const { board, kernel, tree } = bench;
    await bench.discover();
    addProcess(tree, { pid: SLOT_PID, command: "node", state: "D", open: ["/dev/bar_swap"] });
    kernel.faults = { hangs: ({ call }) => call === "slotMove" };
    const hung = await bench.settled(board.acquire(1));
    assert.ok(!hung.ok && hung.error.verdict === "hung" && hung.error.stepPid === SLOT_PID);
    assert.match(hung.error.message, /slotMove did not come back .*pid 70001 \(node\), state D/);
    // As a kernel would have it: the call goes through in the end, for a process that is stuck.
    Object.assign(kernel.slot, { occupant: 1, holderPid: SLOT_PID });
    kernel.faults = {};
    await bench.fails(board.acquire(0), "refused", /pid 70001 \(node\) holds it/);
    tree.remove(`proc/${SLOT_PID}`);
    await bench.succeeds(board.acquire(0));
  });
});

test("another version of the slot's calls is refused", async () => {
  await withBench(async (bench) => {
    bench.kernel.slot.version = 2;
    await bench.fails(bench.board.discover(noInventory), "refused", /version 2 .* we speak 1/);
    bench.kernel.slot.version = 1;
    await bench.discover();
  });
});

test("a slot that somebody takes from us is told once, and the occupant with it", async () => {
  await withBench(async (bench) => {
    const { board, kernel, tree, events } = bench;
    await bench.discover();
    const stop = board.watch((event) => events.push(event));
    await bench.succeeds(board.acquire(1));
    assert.deepEqual(await bench.eventsWithin(20_000), [], "all is well");
    kernel.slot.occupant = null;
    const text = "die 1 was in the slot, and now it is free";
    assert.deepEqual(await bench.eventsWithin(20_000), [
      { kind: "slot_lost", xid: null, die: 1, text },
    ]);
    assert.equal(board.occupant(0), null);

    await bench.succeeds(board.acquire(1));
    addProcess(tree, { pid: 4000, command: "thief", open: ["/dev/bar_swap"] });
    Object.assign(kernel.slot, { occupant: 2, holderPid: 4000 });
    const [stolen, ...more] = await bench.eventsWithin(20_000);
    assert.match(stolen?.text ?? "", /now die 2 is in it, held by pid 4000 \(thief\)/);
    assert.deepEqual(more, []);
    assert.equal(board.occupant(0), null);
    tree.remove("proc/4000");
    await bench.succeeds(board.acquire(1));
    stop();
    kernel.slot.occupant = null;
    assert.deepEqual(await bench.eventsWithin(20_000), [], "nobody watches any more");
  });
});

test("a slot that no longer answers is told once, and not asked again and again", async () => {
  await withBench(async (bench) => {
    const { board, kernel, events } = bench;
    await bench.discover();
    board.watch((event) => events.push(event));
    await bench.succeeds(board.acquire(1));
    kernel.faults = { hangs: ({ call }) => call === "slotQuery" };
    const [hung, ...more] = await bench.eventsWithin(60_000);
    assert.match(hung?.text ?? "", /slotQuery did not come back within 5000 ms/);
    assert.deepEqual(more, []);
    assert.equal(kernel.counts.abandoned, 1);
  });
});

test("a read of BAR1 is a copy, and refused where no die is in the slot", async () => {
  await withBench(async (bench) => {
    const { board } = bench;
    await bench.discover();
    await bench.fails(board.readBar(0, 4), "refused", /ENODEV/);
    await bench.succeeds(board.acquire(1));
    assert.deepEqual([...(await bench.succeeds(board.readBar(2, 4)))], [2, 3, 4, 5]);
  });
});

test("presence asks the device, and says so where it cannot", async () => {
  await withBench(async (bench) => {
    const { board, tree, kernel } = bench;
    assert.equal(await bench.settled(board.presence(0)), "unknown", "nobody has discovered it");
    await bench.discover();
    assert.equal(await bench.settled(board.presence(0)), "present");
    addFunction(tree, ADDRESSES[0], { isOffBus: true });
    assert.equal(await bench.settled(board.presence(0)), "off_bus");
    kernel.faults = { hangs: ({ call }) => call === "presence" };
    assert.equal(await bench.settled(board.presence(0)), "unknown");
  });
});

test("ordinals are the driver's, by address in any form; 0 is nobody's by right", async () => {
  await withBench(async ({ board }) => {
    const die = (number: number) => ({ die: number, address: ADDRESSES[number] ?? "", name: "" });
    const device = (ordinal: number, pciAddress: string | null) => ({
      ...{ ordinal, name: "Tesla K80", pciAddress },
    });
    const devices = [device(0, "00000000:07:00.0"), device(1, "0000:05:00.0")];
    assert.deepEqual(
      [0, 1, 2].map((number) => board.ordinalOf(die(number), devices)),
      [1, null, 0],
    );
    const soft = [device(0, null), device(1, null)];
    assert.deepEqual(
      [0, 1, 2].map((number) => board.ordinalOf(die(number), soft)),
      [0, 1, 0],
    );
    assert.equal(board.ordinalOf(die(0), []), null);
    return Promise.resolve();
  });
});
