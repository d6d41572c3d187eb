import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import {
  describeProcess,
  isProcessAlive,
  readFamily,
  readProcess,
  stuckOne,
} from "./process-state.ts";
import { addProcess, createSysTree } from "./testing.ts";

test("a process's name may hold parentheses and spaces", () => {
  const tree = createSysTree();
  tree.write("proc/7/stat", "7 (a) S (b) c) D 3 7 7 0 -1");
  assert.deepEqual(readProcess(tree.root, 7), {
    ...{ pid: 7, parentPid: 3, sessionId: 7, startTicks: 0, command: "a) S (b) c", state: "D" },
  });
  tree.write("proc/8/stat", "nonsense");
  assert.equal(readProcess(tree.root, 8), null);
  assert.equal(readProcess(tree.root, 9), null);
  tree.end();
});

test("a zombie has ended, unless a thread of it has not", () => {
  const tree = createSysTree();
  const states = (pid: number, leader: string, thread: string | null): boolean => {
    tree.write(`proc/${pid}/stat`, `${pid} (node) ${leader} 1 1 1 0`);
    tree.write(`proc/${pid}/task/${pid}/stat`, `${pid} (node) ${leader} 1 1 1 0`);
    const other = pid + 1000;
    if (thread !== null) {
      tree.write(`proc/${pid}/task/${other}/stat`, `${other} (node) ${thread} 1 1 1 0`);
    }
    return isProcessAlive(tree.root, pid);
  };
  assert.ok(states(1, "S", null));
  assert.ok(states(2, "D", "Z"));
  assert.ok(!states(3, "Z", null));
  assert.ok(!states(4, "Z", "Z"));
  assert.ok(states(5, "Z", "D"));
  assert.ok(!isProcessAlive(tree.root, 6));
  tree.end();
});

test("a process and what it has started are described, each with where it waits", () => {
  const tree = createSysTree();
  tree.write("proc/12/stat", "12 (node) S 1 12 12 0");
  tree.write("proc/12/wchan", "0");
  tree.write("proc/14/stat", "14 (modprobe) D 12 12 12 0");
  tree.write("proc/14/wchan", "nv_pci_probe");
  tree.write("proc/15/stat", "15 (other) R 1 15 15 0");
  assert.equal(
    describeProcess(tree.root, 12),
    "pid 12 (node), state S; pid 14 (modprobe), state D, in nv_pci_probe",
  );
  assert.equal(describeProcess(tree.root, 99), "pid 99");
  tree.end();
});

test("a number that another process has by now is not the process that had it", () => {
  const tree = createSysTree();
  addProcess(tree, { pid: 12, command: "modprobe", state: "D", startTicks: 500, open: [] });
  assert.equal(readProcess(tree.root, 12)?.startTicks, 500);
  assert.ok(isProcessAlive(tree.root, 12, 500));
  assert.ok(!isProcessAlive(tree.root, 12, 499));
  assert.ok(isProcessAlive(tree.root, 12));
  tree.end();
});

test("a family is what a process started, and what is left of its session", () => {
  const tree = createSysTree();
  const add = (pid: number, parentPid: number, state = "S", session?: number): void => {
    addProcess(tree, {
      pid,
      command: "x",
      parentPid,
      state,
      open: [],
      ...(session && { session }),
    });
  };
  add(10, 1);
  add(11, 10, "S", 10);
  // A session of its own, so that only its parent tells whose it is.
  add(12, 11, "D");
  add(13, 1, "S", 10);
  add(14, 1);
  const pids = (of: number): readonly number[] => readFamily(tree.root, of).map(({ pid }) => pid);
  assert.deepEqual(pids(10), [10, 11, 13, 12]);
  assert.equal(stuckOne(readFamily(tree.root, 10))?.pid, 12);
  tree.remove("proc/10");
  assert.deepEqual(pids(10), [11, 13, 12]);
  assert.deepEqual(pids(99), []);
  assert.equal(stuckOne([]), null);
  tree.end();
});

test("a real process is alive until it has ended", async () => {
  const child = spawn("sleep", ["600"]);
  assert.ok(child.pid !== undefined);
  assert.ok(isProcessAlive("/", child.pid));
  assert.equal(readProcess("/", child.pid)?.parentPid, process.pid);
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
  assert.ok(!isProcessAlive("/", child.pid));
});
