// Loading the driver with all dies but one blocked, over a kernel of the tests' own. A control
// stands beside each failure.
import assert from "node:assert/strict";
import { constants } from "node:os";
import { test } from "node:test";
import { addressOf, BLOCKED, type DriverBench, overridePath, withBench } from "./testing-driver.ts";
import { addProcess, bindInTree } from "./testing.ts";

const { errno } = constants;

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
    assert.ok(bench.kernel.steps.includes(`write ${JSON.stringify(overridePath(2))} "\\n"`));
    await bench.succeeds(driver.bind(2));
    assert.deepEqual(bench.drivers(), ["nvidia", null, "nvidia"]);
    assert.deepEqual(bench.overrides(), [null, BLOCKED, null]);
    await bench.succeeds(driver.bind(2));
    assert.equal(bench.count("nvidia/bind"), 1, "bound already is not bound again");
  });
});

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
    assert.equal(bench.kernel.steps.at(-2), `write ${JSON.stringify(overridePath(1))} "\\n"`);
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
  prepare: (bench: DriverBench) => void,
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
