import assert from "node:assert/strict";
import { test } from "node:test";

import { VirtualClock } from "../base/mod.ts";
import type { HostLauncher } from "./host-link.ts";
import { createSpareLauncher } from "./spare-host.ts";

/** Hosts that only have a number and an end. */
function createHosts(): {
  readonly launch: HostLauncher;
  readonly ends: ((how: string) => void)[];
} {
  const ends: ((how: string) => void)[] = [];
  const launch: HostLauncher = () => {
    const index = ends.push(() => undefined) - 1;
    return {
      pid: index,
      write: () => undefined,
      onData: () => undefined,
      onEnd: (listener) => void (ends[index] = listener),
      kill: () => undefined,
    };
  };
  return { launch, ends };
}

function createBench(): ReturnType<typeof createHosts> & {
  readonly take: HostLauncher;
  /** Lets whatever was planned come to pass. */
  readonly wait: () => Promise<unknown>;
} {
  const clock = new VirtualClock();
  const hosts = createHosts();
  return {
    ...hosts,
    take: createSpareLauncher(hosts.launch, clock),
    wait: () => clock.run(() => false, Infinity),
  };
}

test("createSpareLauncher() hands out the host that was started in reserve", async () => {
  const { take, ends, wait } = createBench();
  assert.equal(take().pid, 0);
  assert.equal(ends.length, 1, "the reserve waits for the bring-up under way");
  await wait();
  assert.equal(ends.length, 2);
  const spare = take();
  assert.equal(spare.pid, 1);
  let how = "";
  spare.onEnd((told) => (how = told));
  ends[1]?.("was killed");
  assert.equal(how, "was killed");
});

test("createSpareLauncher() starts a host where the reserve is not up, or has ended", async () => {
  const { take, ends, wait } = createBench();
  assert.deepEqual([take().pid, take().pid], [0, 1]);
  await wait();
  assert.equal(ends.length, 3);
  ends[2]?.("was killed");
  assert.equal(take().pid, 3);
  await wait();
  assert.equal(take().pid, 4);
});
