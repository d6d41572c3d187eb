// Binding and unbinding one die, over a kernel of the tests' own. A control stands beside each
// failure.
import assert from "node:assert/strict";
import { constants } from "node:os";
import { test } from "node:test";
import {
  addressOf,
  BLOCKED,
  type DriverBench,
  overridePath,
  OWNER_PID,
  withBench,
} from "./testing-driver.ts";
import { addProcess, bindInTree } from "./testing.ts";

const { errno } = constants;

const BINDS: readonly (readonly [
  what: string,
  prepare: (bench: DriverBench) => void,
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
    (bench) => bench.tree.write(overridePath(1), "holdfast-blocked\n"),
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

const addOffBus = (bench: DriverBench): void =>
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
    tree.write(overridePath(1), `${BLOCKED}\n`);
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
