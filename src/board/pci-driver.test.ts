// The driver's binding over a kernel of the tests' own, which behaves as the real one was measured
// to. A control stands beside each failure.
import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { VirtualClock } from "../base/mod.ts";
import type { BoardDie, DriverBinding } from "./board.ts";
import { STEP_TIMEOUTS, type StepOutcome } from "./board-step.ts";
import { createPciDriver } from "./pci-driver.ts";
import { readDriver, readOverride } from "./pci-function.ts";
import { createStepRunner } from "./step-runner.ts";
import { createTreeKernel, MODPROBE, type TreeKernel } from "./testing-kernel.ts";
import {
  addFunction,
  addProcess,
  bindInTree,
  createSysTree,
  type SysTree,
  type TreeFunction,
} from "./testing.ts";

const ADDRESSES = ["0000:05:00.0", "0000:06:00.0", "0000:07:00.0"] as const;
const OWNER_PID = 500;
const { errno } = constants;

class Bench {
  readonly tree: SysTree = createSysTree();
  readonly kernel: TreeKernel = createTreeKernel(this.tree, ADDRESSES);
  readonly clock = new VirtualClock();
  readonly log: string[] = [];
  readonly driver: DriverBinding;
  occupant: number | null = 0;

  constructor(functions: readonly TreeFunction[] = [{}, {}, {}]) {
    const { tree, kernel, clock } = this;
    functions.forEach((given, die) => addFunction(tree, addressOf(die), given));
    this.modprobe(MODPROBE);
    const dies = functions.map((_, die): BoardDie => ({ die, address: addressOf(die), name: "" }));
    const { launch } = kernel;
    const steps = createStepRunner({ launch, clock, root: tree.root, idleMs: null });
    this.driver = createPciDriver({
      root: tree.root,
      steps,
      presence: { looks: steps, timeoutMs: STEP_TIMEOUTS.presenceMs },
      timeouts: STEP_TIMEOUTS,
      clock,
      log: (line) => this.log.push(line),
      ownerPid: OWNER_PID,
      dies: () => dies,
      occupant: () => this.occupant,
    });
  }

  modprobe(script: string): void {
    this.tree.write("usr/sbin/modprobe", script);
    chmodSync(join(this.tree.root, "usr/sbin/modprobe"), 0o755);
  }

  /** As after another owner: the module is live and has these dies. */
  loaded(...dies: readonly number[]): this {
    this.tree.write("sys/module/nvidia/initstate", "live\n");
    this.tree.write("sys/bus/pci/drivers/nvidia/bind", "");
    this.tree.write("sys/bus/pci/drivers/nvidia/unbind", "");
    for (const die of dies) bindInTree(this.tree, addressOf(die), "nvidia");
    return this;
  }

  async settled<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    void promise.then(() => (isDone = true));
    assert.equal(await this.clock.run(() => isDone, Infinity), "done");
    return promise;
  }

  async succeeds(step: Promise<StepOutcome<void>>): Promise<void> {
    const done = await this.settled(step);
    assert.ok(done.ok, done.ok ? "" : done.error.message);
  }

  async fails(step: Promise<StepOutcome<void>>, verdict: string, message: RegExp): Promise<void> {
    const done = await this.settled(step);
    assert.ok(!done.ok, "it succeeded");
    assert.match(done.error.message, message);
    assert.equal(done.error.verdict, verdict, done.error.message);
  }

  overrides(): readonly (string | null)[] {
    return ADDRESSES.map((name) => readOverride(this.tree.root, name));
  }

  drivers(): readonly (string | null)[] {
    return ADDRESSES.map((name) => readDriver(this.tree.root, name));
  }

  /** How often a step was taken whose text holds this. */
  count(text: string): number {
    return this.kernel.steps.filter((step) => step.includes(text)).length;
  }
}

const addressOf = (die: number): string => ADDRESSES[die] ?? "0000:1f:00.0";

async function withBench(
  body: (bench: Bench) => Promise<void>,
  functions?: readonly TreeFunction[],
): Promise<void> {
  const bench = new Bench(functions);
  try {
    await body(bench);
  } finally {
    bench.tree.end();
  }
}

const BLOCKED = "holdfast-blocked";

test("the first die: others are blocked, the driver is loaded once and takes it", async () => {
  await withBench(async (bench) => {
    const { driver } = bench;
    assert.ok(!driver.isLoaded() && !driver.isBound(0));
    await bench.succeeds(driver.blockAllExcept(0));
    assert.deepEqual(bench.overrides(), [null, BLOCKED, BLOCKED]);
    await bench.succeeds(driver.load());
    assert.ok(driver.isLoaded() && driver.isBound(0) && !driver.isBound(1));
    assert.deepEqual(bench.drivers(), ["nvidia", null, null]);
    assert.equal(bench.count("modprobe"), 1);
    await bench.settled(driver.restore(0));
    assert.deepEqual(bench.overrides(), [null, BLOCKED, BLOCKED], "what worked out stays");
  });
});

test("a further die: unblocked by a newline, bound; the first one stays bound", async () => {
  await withBench(async (bench) => {
    const { driver } = bench;
    await bench.succeeds(driver.blockAllExcept(0));
    await bench.succeeds(driver.load());
    bench.occupant = 2;
    await bench.succeeds(driver.unblock(2));
    assert.ok(bench.kernel.steps.includes(`write ${overrideWrite(2)} "\\n"`));
    await bench.succeeds(driver.bind(2));
    assert.deepEqual(bench.drivers(), ["nvidia", null, "nvidia"]);
    assert.deepEqual(bench.overrides(), [null, BLOCKED, null]);
    await bench.succeeds(driver.bind(2));
    assert.equal(bench.count("nvidia/bind"), 1, "bound already is not bound again");
  });
});

const overrideWrite = (die: number): string =>
  JSON.stringify(`sys/bus/pci/devices/${addressOf(die)}/driver_override`);

test("an override of somebody else's is refused, named and left; ours is not", async () => {
  await withBench(
    async (bench) => {
      await bench.fails(bench.driver.blockAllExcept(0), "refused", /0000:07:00.0 .*'vfio-pci'/);
      await bench.settled(bench.driver.restore(0));
      assert.deepEqual(bench.overrides(), [BLOCKED, null, "vfio-pci"], "all is as it was");
    },
    [{ override: BLOCKED }, {}, { override: "vfio-pci" }],
  );
  await withBench(
    async (bench) => {
      await bench.succeeds(bench.driver.blockAllExcept(0));
      assert.deepEqual(bench.overrides(), [null, BLOCKED, BLOCKED]);
    },
    [{ override: BLOCKED }, {}, { override: BLOCKED }],
  );
  await withBench(
    async (bench) => {
      await bench.fails(bench.loaded().driver.unblock(0), "refused", /reserved .*'none'/);
      assert.deepEqual(bench.overrides(), ["none", null, null]);
    },
    [{ override: "none" }, {}, {}],
  );
});

test("a die that a driver has already is not blocked, and is reported", async () => {
  await withBench(async (bench) => {
    bindInTree(bench.tree, addressOf(1), "nvidia");
    await bench.succeeds(bench.driver.blockAllExcept(0));
    assert.deepEqual(bench.overrides(), [null, null, BLOCKED]);
    assert.match(bench.log.join("\n"), /die 1: not blocked, nvidia has it already/);
  });
});

test("a die that another driver has is refused before anything is written", async () => {
  await withBench(async (bench) => {
    bindInTree(bench.tree, addressOf(1), "nouveau");
    await bench.fails(bench.driver.blockAllExcept(1), "refused", /nouveau has 0000:06:00.0; take/);
    await bench.fails(bench.driver.unblock(1), "refused", /nouveau has/);
    assert.deepEqual(bench.kernel.steps, []);
  });
});

test("an unbind or a load that hangs is told as such, whatever the link says", async () => {
  await withBench(async (bench) => {
    const { driver, kernel, tree } = bench;
    bench.loaded(0);
    addProcess(tree, { pid: 70_001, command: "node", state: "D", open: [] });
    kernel.faults = {
      hangs: ({ call }): boolean => {
        if (call === "write") tree.remove(`sys/bus/pci/devices/${addressOf(0)}/driver`);
        return call === "write";
      },
    };
    await bench.fails(driver.unbind(0), "hung", /pid 70001 \(node\), state D/);
  });
  await withBench(async (bench) => {
    const { driver, kernel, tree } = bench;
    addProcess(tree, { pid: 70_001, command: "node", state: "S", open: [] });
    addProcess(tree, { pid: 80_000, command: "modprobe", parentPid: 70_001, state: "D", open: [] });
    kernel.faults = { hangs: ({ call }) => call === "program" };
    await bench.fails(driver.load(), "hung", /pid 80000 \(modprobe\), state D/);
  });
});

test("a load that hangs keeps the other dies blocked until it has ended", async () => {
  await withBench(async (bench) => {
    const { driver, kernel, tree } = bench;
    await bench.succeeds(driver.blockAllExcept(0));
    addProcess(tree, { pid: 70_001, command: "node", open: [] });
    const modprobe = { pid: 80_000, parentPid: 70_001, session: 70_001, startTicks: 7 };
    addProcess(tree, { ...modprobe, command: "modprobe", state: "D", open: [] });
    kernel.faults = { hangs: ({ call }) => call === "program" };
    const hung = await bench.settled(driver.load());
    assert.ok(!hung.ok && hung.error.verdict === "hung");
    assert.deepEqual([hung.error.stepPid, hung.error.stepStartTicks], [80_000, 7]);
    // SIGKILL ends the step's process, and not the modprobe in the driver's probe of die 0.
    tree.remove("proc/70001");
    bindInTree(tree, addressOf(0), "nvidia");
    kernel.faults = {};
    await bench.settled(driver.restore(0));
    assert.deepEqual(bench.overrides(), [null, BLOCKED, BLOCKED], "it would probe them next");
    assert.match(bench.log.join("\n"), /0000:07:00.0: driver_override is left .* pid 80000 still/);
    assert.ok(!driver.isBound(0), "a link proves nothing while its probe hangs");
    const before = kernel.steps.length;
    bench.occupant = 1;
    for (const step of [driver.blockAllExcept, driver.unblock]) {
      await bench.fails(step(1), "hung", /pid 80000 still hangs in loading nvidia/);
    }
    await bench.fails(driver.load(), "hung", /pid 80000 still hangs in loading/);
    assert.equal(kernel.steps.length, before, "nothing is written behind it");

    // Its end, without a driver: an unrelated process has its number.
    addProcess(tree, { pid: 80_000, command: "cron", startTicks: 9000, open: [] });
    tree.remove(`sys/bus/pci/devices/${addressOf(0)}/driver`);
    await bench.succeeds(driver.blockAllExcept(1));
    assert.deepEqual(bench.overrides(), [BLOCKED, null, BLOCKED]);
  });
});

for (const state of ["live", "coming", null]) {
  test(`a load that was refused lifts blocks only without a driver (${state})`, async () => {
    await withBench(async (bench) => {
      await bench.succeeds(bench.driver.blockAllExcept(0));
      if (state === null) bench.modprobe(COMPLAINING);
      else bench.loaded().tree.write("sys/module/nvidia/initstate", `${state}\n`);
      const told = /did not take|coming all this time|ended with code 1/;
      await bench.fails(bench.driver.load(), "refused", told);
      await bench.settled(bench.driver.restore(0));
      const kept = state === null ? null : BLOCKED;
      assert.deepEqual(bench.overrides(), [null, kept, kept]);
      const log = bench.log.join("\n");
      if (state === null) assert.match(log, /die 0: driver_override put back as it was/);
      else assert.match(log, /0000:06:00.0: driver_override is left .* nvidia is (live|coming)/);
    });
  });
}

test("a write that fails half-way is undone, in reverse, and names what to do", async () => {
  await withBench(async (bench) => {
    bench.kernel.faults = {
      writeErrno: { path: `${addressOf(2)}/driver_override`, errno: errno.EACCES },
    };
    await bench.fails(bench.driver.blockAllExcept(0), "refused", /EACCES \(errno 13\); run it as/);
    assert.deepEqual(bench.overrides(), [null, BLOCKED, null]);
    await bench.settled(bench.driver.restore(0));
    assert.deepEqual(bench.overrides(), [null, null, null]);
    assert.equal(bench.kernel.steps.at(-2), `write ${overrideWrite(1)} "\\n"`);
  });
});

test("a write that the kernel takes and does not keep is found by reading", async () => {
  await withBench(async (bench) => {
    bench.kernel.faults = { ignoredWrite: `${addressOf(1)}/driver_override` };
    const told = /0000:06:00.0: wrote 'holdfast-blocked' and read back none/;
    await bench.fails(bench.driver.blockAllExcept(0), "refused", told);
  });
});

const LOADS: readonly (readonly [
  what: string,
  prepare: (bench: Bench) => void,
  told: RegExp | null,
  modprobes: number,
])[] = [
  ["modprobe fails", (bench) => bench.modprobe(COMPLAINING), /ended with code 1: .*not found/, 1],
  [
    "modprobe says yes and does nothing",
    (bench) => bench.modprobe("#!/bin/sh\n"),
    /no \/sys\/mod/,
    1,
  ],
  ["there is no modprobe", (bench) => bench.tree.remove("usr/sbin/modprobe"), /install kmod/, 0],
  ["somebody else has loaded it", (bench) => void bench.loaded(0), null, 0],
  ["it is loaded and does not take the die", (bench) => void bench.loaded(), /did not take/, 0],
  [
    "somebody else is loading it",
    (bench) => {
      bench.loaded(0).tree.write("sys/module/nvidia/initstate", "coming\n");
      bench.clock.after(3000, () => bench.loaded());
    },
    null,
    0,
  ],
  [
    "somebody else's load fails",
    (bench) => {
      bench.tree.write("sys/module/nvidia/initstate", "coming\n");
      bench.clock.after(3000, () => bench.tree.remove("sys/module/nvidia"));
    },
    null,
    1,
  ],
  [
    "its start never ends",
    (bench) => bench.tree.write("sys/module/nvidia/initstate", "coming\n"),
    /has been coming all this time/,
    0,
  ],
];

const COMPLAINING = "#!/bin/sh\necho 'modprobe: FATAL: Module nvidia not found.' >&2\nexit 1\n";

for (const [what, prepare, told, modprobes] of LOADS) {
  test(`load: ${what}`, async () => {
    await withBench(async (bench) => {
      prepare(bench);
      if (told === null) await bench.succeeds(bench.driver.load());
      else await bench.fails(bench.driver.load(), "refused", told);
      assert.equal(bench.driver.isBound(0), told === null);
      assert.equal(bench.count("modprobe"), modprobes);
    });
  });
}

const BINDS: readonly (readonly [
  what: string,
  prepare: (bench: Bench) => void,
  verdict: "refused" | "lost" | null,
  told: RegExp,
])[] = [
  ["it works", () => undefined, null, /(?:)/],
  [
    "the probe fails",
    (bench) => (bench.kernel.faults = { probeErrno: { name: addressOf(1), errno: errno.EIO } }),
    "refused",
    /EIO \(errno 5\); the driver's probe of it failed/,
  ],
  [
    "an errno without a name in libuv",
    (bench) => (bench.kernel.faults = { probeErrno: { name: addressOf(1), errno: errno.EBADMSG } }),
    "refused",
    /EBADMSG \(errno 74\)/,
  ],
  [
    "it is blocked still",
    (bench) => bench.tree.write(JSON.parse(overrideWrite(1)) as string, "holdfast-blocked\n"),
    "refused",
    /ENODEV .*does not know this die, or its driver_override/,
  ],
  [
    "the kernel says yes and binds nothing",
    (bench) => (bench.kernel.faults = { ignoredWrite: "nvidia/bind" }),
    "refused",
    /took the bind of 0000:06:00.0, and no driver has it now/,
  ],
  ["it fell off the bus", (bench) => addOffBus(bench), "lost", /does not answer: it fell off/],
  ["it is not in the slot", (bench) => (bench.occupant = 0), "refused", /die 1 is not in the slot/],
  [
    "another driver has it",
    (bench) => bindInTree(bench.tree, addressOf(1), "vfio-pci"),
    "refused",
    /vfio-pci has 0000:06:00.0; take it away with `echo 0000:06:00.0 >/,
  ],
  [
    "the driver's module is gone",
    (bench) => bench.tree.remove("sys/bus/pci/drivers/nvidia"),
    "refused",
    /ENOENT .*there is no PCI driver nvidia/,
  ],
  [
    "somebody else binds it meanwhile",
    (bench) => {
      // It is bound between our look at the link and our write.
      bench.kernel.faults = {
        hangs: ({ call }): boolean => {
          if (call === "write") bindInTree(bench.tree, addressOf(1), "nvidia");
          return false;
        },
      };
    },
    null,
    /(?:)/,
  ],
];

const addOffBus = (bench: Bench): void =>
  bench.tree.write(`sys/bus/pci/devices/${addressOf(1)}/config`, Buffer.alloc(64, 0xff));

for (const [what, prepare, verdict, told] of BINDS) {
  test(`bind: ${what}`, async () => {
    await withBench(async (bench) => {
      bench.loaded(0).occupant = 1;
      prepare(bench);
      if (verdict === null) await bench.succeeds(bench.driver.bind(1));
      else await bench.fails(bench.driver.bind(1), verdict, told);
      assert.equal(bench.driver.isBound(1), verdict === null);
    });
  });
}

test("a bind that hangs is told with its process, and its die left alone", async () => {
  await withBench(async (bench) => {
    const { driver, kernel, tree } = bench;
    bench.loaded(0).occupant = 1;
    tree.write(JSON.parse(overrideWrite(1)) as string, `${BLOCKED}\n`);
    await bench.succeeds(driver.unblock(1));
    addProcess(tree, { pid: 70_001, command: "node", state: "D", open: [] });
    tree.write("proc/70001/wchan", "nv_pci_probe");
    kernel.faults = {
      hangs: ({ call }): boolean => {
        // The kernel makes the link first, then asks the driver.
        if (call === "write") bindInTree(tree, addressOf(1), "nvidia");
        return call === "write";
      },
    };
    const hung = await bench.settled(driver.bind(1));
    assert.ok(!hung.ok && hung.error.verdict === "hung" && hung.error.call === "bind");
    assert.equal(hung.error.stepPid, 70_001);
    assert.match(hung.error.message, /pid 70001 \(node\), state D, in nv_pci_probe/);

    assert.ok(!driver.isBound(1), "a link proves nothing while the probe hangs");

    await bench.settled(driver.restore(1));
    assert.match(bench.log.join("\n"), /0000:06:00.0: driver_override is left as it is: pid 70001/);
    const before = kernel.steps.length;
    await bench.fails(driver.bind(1), "hung", /70001 still hangs in an earlier step/);
    await bench.fails(driver.unblock(1), "hung", /70001 still hangs/);
    assert.equal(kernel.steps.length, before, "nothing is tried behind a lock that is held");

    kernel.faults = {};
    tree.remove("proc/70001");
    assert.ok(driver.isBound(1), "it came back, and the die is the driver's");
    await bench.succeeds(driver.bind(1));
  });
});

test("unbind: refused while somebody has the die open, and named", async () => {
  await withBench(async (bench) => {
    const { driver, tree } = bench;
    bench.loaded(0, 1);
    addProcess(tree, { pid: 900, command: "trainer", open: ["/dev/nvidia0"] });
    await bench.fails(
      driver.unbind(1),
      "refused",
      /pid 900 \(trainer\) .*one of the dies.*end them/,
    );
    assert.equal(bench.count("nvidia/unbind"), 0);
    const information = `proc/driver/nvidia/gpus/${addressOf(1)}/information`;
    tree.write(information, "Device Minor: \t 1\n");
    assert.deepEqual(await driver.holders(1), []);
    await bench.succeeds(driver.unbind(1));
    assert.deepEqual(bench.drivers(), ["nvidia", null, null]);
    await bench.succeeds(driver.unbind(1));
    assert.equal(bench.count("nvidia/unbind"), 1, "unbound already is not unbound again");
  });
});

test("unbind: our own die hosts are waited for, and not passed over", async () => {
  await withBench(async (bench) => {
    const { driver, tree, clock } = bench;
    bench.loaded(0);
    const host = { pid: 901, command: "node", parentPid: OWNER_PID, open: ["/dev/nvidia0"] };
    addProcess(tree, host);
    assert.deepEqual(await driver.holders(0), []);
    clock.after(2000, () => tree.remove("proc/901"));
    await bench.succeeds(driver.unbind(0));
    assert.ok(clock.nowMs() >= 2000);

    bench.loaded(0);
    addProcess(tree, host);
    await bench.fails(driver.unbind(0), "refused", /pid 901 \(node\)/);
    assert.ok(driver.isBound(0));
  });
});

test("unbind: what the kernel takes and does not do is found by the link", async () => {
  await withBench(async (bench) => {
    bench.loaded(0).kernel.faults = { ignoredWrite: "nvidia/unbind" };
    await bench.fails(bench.driver.unbind(0), "refused", /took the unbind .*nvidia has it still/);
    bench.kernel.faults = {};
    bindInTree(bench.tree, addressOf(1), "vfio-pci");
    await bench.fails(bench.driver.unbind(1), "refused", /vfio-pci has/);
    await bench.fails(bench.driver.unbind(7), "refused", /no die 7/);
  });
});
