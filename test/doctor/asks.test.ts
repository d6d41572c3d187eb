// What the doctor asks of a machine: nothing that wakes, opens or loads what it was not to.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import {
  createRecordedProber,
  gatherFacts,
  probeKey,
  type Asked,
  type ProbeJob,
} from "../../src/doctor/mod.ts";
import { gk210, H200_HOST, K80_HOST, K80_SLOT } from "./machines.ts";
import { buildTree, change, type Change, type Machine } from "./machine-tree.ts";
import { BOUND } from "./situations/slot.ts";

async function callsOn(
  context: TestContext,
  machine: Machine,
  asked: Partial<Asked> = {},
): Promise<readonly (readonly ProbeJob[])[]> {
  const tree = buildTree(machine);
  context.after(tree.end);
  const answer = createRecordedProber(tree.root);
  const calls: (readonly ProbeJob[])[] = [];
  await gatherFacts({
    root: tree.root,
    stateDirectory: tree.stateDirectory,
    asked: { slot: null, backend: "auto", ...asked },
    environment: {},
    nodeVersion: "v20.19.0",
    architecture: "x64",
    user: { uid: 0, groups: [] },
    pid: process.pid,
    prober: (jobs) => {
      calls.push(jobs);
      return answer(jobs);
    },
  });
  return calls;
}

const SECOND = ["sys/devices", ...gk210(1).above, "0000:06:00.0"].join("/");
const asleep = (path: string, value: string): Change => ({
  files: { [`${SECOND}/${path}`]: `${value}\n` },
});
const UNLOADED: Change = { files: { "sys/module/nvidia": undefined } };

const STARTED = "libcuda";
const LOADED = "library";

const CASES: readonly {
  readonly name: string;
  readonly machine: Machine;
  readonly asked?: Partial<Asked>;
  readonly libcuda: string | null;
}[] = [
  { name: "a driver that is loaded", machine: K80_HOST, libcuda: STARTED },
  {
    name: "the same, for a simulated board",
    machine: K80_HOST,
    asked: { slot: "sim" },
    libcuda: STARTED,
  },
  { name: "no GPU wanted", machine: K80_HOST, asked: { backend: "soft" }, libcuda: null },
  { name: "no driver loaded", machine: change(K80_HOST, UNLOADED), libcuda: LOADED },
  {
    name: "no driver loaded, CUDA asked for",
    machine: change(K80_HOST, UNLOADED),
    asked: { backend: "cuda" },
    libcuda: LOADED,
  },
  {
    name: "no driver loaded, a simulated board",
    machine: change(K80_HOST, UNLOADED),
    asked: { slot: "sim" },
    libcuda: LOADED,
  },
  {
    name: "a driver that is being loaded",
    machine: change(K80_HOST, { files: { "sys/module/nvidia/initstate": "coming\n" } }),
    libcuda: LOADED,
  },
  { name: "a window before the bring-up", machine: K80_SLOT, libcuda: LOADED },
  { name: "a window with a die in it", machine: change(K80_SLOT, ...BOUND), libcuda: LOADED },
  {
    name: "a window, asked for the direct way",
    machine: change(K80_SLOT, ...BOUND),
    asked: { slot: "direct" },
    libcuda: LOADED,
  },
  {
    name: "a window, asked for a simulated board",
    machine: change(K80_SLOT, ...BOUND),
    asked: { slot: "sim" },
    libcuda: LOADED,
  },
  {
    name: "a die that is off",
    machine: change(K80_HOST, asleep("power_state", "D3cold")),
    libcuda: LOADED,
  },
  {
    name: "a die that is suspended",
    machine: change(K80_HOST, asleep("power/runtime_status", "suspended")),
    libcuda: LOADED,
  },
];

for (const { name, machine, asked, libcuda } of CASES) {
  test(`what the doctor asks of libcuda: ${name}`, async (context) => {
    const keys = (await callsOn(context, machine, asked)).flat().map(probeKey);
    const found = keys.filter((key) => key === STARTED || key === LOADED);
    assert.deepEqual(found, libcuda === null ? [] : [libcuda]);
  });
}

test("a die that is asleep is not asked for its configuration space, its neighbour is", async (context) => {
  const machine = change(K80_HOST, asleep("power_state", "D3hot"));
  const keys = (await callsOn(context, machine)).flat().map(probeKey);
  const config = (address: string): boolean =>
    keys.includes(`read sys/bus/pci/devices/${address}/config`);
  assert.deepEqual([config("0000:05:00.0"), config("0000:06:00.0")], [true, false]);
});

test("of configuration space no more than its header is asked for", async (context) => {
  const jobs = (await callsOn(context, H200_HOST)).flat();
  const config = jobs.find((job) => job.kind === "read" && job.path.endsWith("/config"));
  assert.ok(config?.kind === "read");
  assert.equal(config.bytesMax, 64);
});

test("nodes are not opened where that could load the driver, and dies' own never", async (context) => {
  const opens = async (machine: Machine): Promise<readonly string[]> =>
    (await callsOn(context, machine))
      .flat()
      .map(probeKey)
      .filter((key) => key.startsWith("open "))
      .sort();
  assert.deepEqual(await opens(change(K80_HOST, UNLOADED)), []);
  assert.deepEqual(await opens(K80_HOST), ["open dev/nvidia-uvm", "open dev/nvidiactl"]);
});

test("dies are asked side by side, each by a process of its own", async (context) => {
  const calls = await callsOn(context, K80_HOST);
  const ofDies = calls.filter((jobs) => jobs.some(({ kind }) => kind === "read"));
  assert.deepEqual(
    ofDies.map((jobs) => jobs.length),
    [2, 2],
  );
});

test("nodes are listed once the driver's start has made them", async (context) => {
  const keys = (await callsOn(context, K80_HOST)).map((jobs) => jobs.map(probeKey).join());
  assert.ok(keys.indexOf("libcuda") < keys.indexOf("open dev/nvidia-uvm"), keys.join("\n"));
});
