import assert from "node:assert/strict";
import { test } from "node:test";
import { describeHolders, findHolders, nodeOf } from "./holders.ts";
import { HOLDER_UNSEEN } from "./bar-swap-abi.ts";
import { foreignHolder } from "./slot-holder.ts";
import { addProcess, createSysTree, type SysTree } from "./testing.ts";

const DIE = "0000:05:00.0";

function withTree(body: (tree: SysTree) => void): void {
  const tree = createSysTree();
  try {
    addProcess(tree, { pid: 10, command: "sleep", open: ["/dev/null", "/dev/nvidiactl"] });
    addProcess(tree, { pid: 11, command: "trainer", open: ["/dev/null", "/dev/nvidia0"] });
    addProcess(tree, { pid: 12, command: "nvidia-persiste", open: ["/dev/nvidia1"] });
    addProcess(tree, { pid: 13, command: "uvm", open: ["/dev/nvidia-uvm", "/dev/nvidia10"] });
    addProcess(tree, { pid: 14, command: "gone", state: "Z", open: ["/dev/nvidia1"] });
    body(tree);
  } finally {
    tree.end();
  }
}

const knowsNode = (tree: SysTree): void =>
  tree.write(
    `proc/driver/nvidia/gpus/${DIE}/information`,
    "Model: \t\t Tesla K80\nIRQ:   \t\t 33\nDevice Minor: \t 1\n",
  );

test("the driver names a die's node, and only who has that one open holds the die", () => {
  withTree((tree) => {
    knowsNode(tree);
    assert.equal(nodeOf(tree.root, DIE), "/dev/nvidia1");
    const holders = findHolders(tree.root, DIE);
    assert.deepEqual(
      holders.map(({ pid, path, isCertain }) => [pid, path, isCertain]),
      [[12, "/dev/nvidia1", true]],
    );
    assert.equal(
      describeHolders(holders),
      "pid 12 (nvidia-persiste) has /dev/nvidia1 open; stop nvidia-persistenced first",
    );
  });
});

test("where the driver does not say which node it is, whoever has any die open may hold it", () => {
  withTree((tree) => {
    assert.equal(nodeOf(tree.root, DIE), null);
    const holders = findHolders(tree.root, DIE);
    assert.deepEqual(
      holders.map(({ pid, path }) => [pid, path]),
      [
        [11, "/dev/nvidia0"],
        [12, "/dev/nvidia1"],
        [13, "/dev/nvidia10"],
      ],
    );
    assert.match(
      describeHolders(holders),
      /pid 11 \(trainer\) has \/dev\/nvidia0, one of the dies,/,
    );
  });
});

test("nobody holds a die whose node nobody has open", () => {
  withTree((tree) => {
    tree.write(`proc/driver/nvidia/gpus/${DIE}/information`, "Device Minor: \t 2\n");
    assert.deepEqual(findHolders(tree.root, DIE), []);
  });
});

const SLOT = "/dev/bar_swap";

test("the slot's holder is a stranger that lives and has the device open, and nobody else", () => {
  const tree = createSysTree();
  addProcess(tree, { pid: 20, command: "other owner", open: [SLOT] });
  addProcess(tree, { pid: 21, command: "reused", open: ["/dev/null"] });
  addProcess(tree, { pid: 22, command: "zombie", state: "Z", open: [] });
  addProcess(tree, { pid: 23, command: "stuck", state: "Z", open: [], threads: { 24: "D" } });
  const of = (holderPid: number | null, ownPid: number | null = 99): number | null =>
    foreignHolder(tree.root, { holderPid, ownPid }, SLOT)?.pid ?? null;
  assert.equal(of(20), 20);
  assert.equal(of(20, 20), null);
  assert.equal(of(21), null);
  assert.equal(of(22), null);
  assert.equal(of(23), 23);
  assert.equal(of(26), 26, "where not even process 1 is shown, others may be hidden");
  addProcess(tree, { pid: 1, command: "init", open: [] });
  assert.equal(of(26), null);
  assert.equal(of(null), null);
  tree.end();
});

test("a holder without a number here is one, and is not taken for nobody", () => {
  const tree = createSysTree();
  const query = { holderPid: null, ownPid: 99 };
  assert.equal(foreignHolder(tree.root, query, SLOT), null);
  for (const holderPid of [0, HOLDER_UNSEEN]) {
    const holder = foreignHolder(tree.root, { ...query, holderPid }, SLOT);
    assert.deepEqual(holder, { pid: null, command: "outside of this container" });
  }
  tree.end();
});

test("the slot's device is known by its number, whatever it is called by now", () => {
  const tree = createSysTree();
  addProcess(tree, { pid: 1, command: "init", open: [] });
  // Devices that every machine has stand for it, and for another one.
  tree.link("dev/bar_swap", "/dev/null");
  addProcess(tree, { pid: 20, command: "other name", open: ["/dev/zero", "/dev/null"] });
  addProcess(tree, { pid: 21, command: "another device", open: ["/dev/zero"] });
  addProcess(tree, { pid: 22, command: "its node is gone", open: [`${SLOT} (deleted)`] });
  const of = (holderPid: number): number | null =>
    foreignHolder(tree.root, { holderPid, ownPid: 99 }, SLOT)?.pid ?? null;
  assert.deepEqual([20, 21, 22].map(of), [20, null, 22]);
  tree.end();
});
