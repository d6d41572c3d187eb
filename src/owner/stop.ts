/** The owner's last levels: everything destroyed in order, or leaving with nothing destroyed. */
import { ok, type Result } from "../base/mod.ts";
import { refuse, type DieTable } from "./die-table.ts";
import type { HostKeeper, HostTeardown } from "./host-keeper.ts";
import type { HostLink } from "./host-link.ts";
import { describeCause, type JobCause } from "./job.ts";
import type { DieTeardown, OwnerRefusal, TeardownReport } from "./reports.ts";

/**
 * How long `leave` waits for die hosts that it has killed. Their contexts are taken down by the
 * driver as they go, which takes a fraction of a second; one that is stuck in a driver call never
 * goes, and is not to keep the owner.
 */
export const LEAVE_WAIT_MS = 5_000;

/** How long a die host that has destroyed everything may take to end by itself. */
const END_WAIT_MS = 10_000;

const TORN_DOWN: JobCause = {
  name: "torn_down",
  code: 0,
  call: "teardown",
  message: "the die was torn down, and its results with it",
};

/** See Owner.teardown. */
export async function teardown(table: DieTable): Promise<Result<TeardownReport, OwnerRefusal>> {
  const { board, clock } = table.options;
  if (board.slotKind !== "direct") {
    return refuse(
      "not_possible",
      "nothing is torn down behind a window: the driver closes a die by its registers, and only " +
        "the die in the slot has any; 'exit' leaves with the slot mapped and nothing released",
    );
  }
  const startMs = clock.nowMs();
  const { mode } = await table.gate.park();
  if (mode !== "parked") {
    return refuse("not_possible", `not torn down: told to go on first, and is ${mode}`);
  }
  const dies: DieTeardown[] = [];
  const hosts: TeardownReport["hosts"][number][] = [];
  for (const keeper of table.keepers()) {
    const host = await tearDownHost(table, keeper);
    if (host === null) continue;
    dies.push(...host.dies);
    hosts.push({ pid: host.pid, end: host.end });
  }
  // One that was lost before, or whose host would not destroy it, is no more asked for than these.
  for (const die of table.dies()) die.tearDown(TORN_DOWN);
  return ok({ dies, hosts, elapsedMs: clock.nowMs() - startMs });
}

type HostEnd = {
  readonly pid: number | null;
  readonly dies: readonly DieTeardown[];
  readonly end: string;
};

/** Null where the keeper has no host. */
async function tearDownHost(table: DieTable, keeper: HostKeeper): Promise<HostEnd | null> {
  const { log } = table.options;
  const link = keeper.current();
  if (link === null) return null;
  log(`tearing down die host ${String(link.pid)}: buffers, modules, contexts`);
  const done = await keeper.teardown();
  if (done === null) return null;
  if (!done.ok) {
    const { cause } = done.error;
    keeper.kill(link, cause);
    return { pid: link.pid, dies: [], end: `was killed: ${describeCause(cause)}` };
  }
  return { pid: link.pid, dies: done.value.dies, end: await endOf(table, done.value) };
}

/** Waits until the host has ended; one that does not by itself is killed. */
async function endOf(table: DieTable, { link }: HostTeardown): Promise<string> {
  if (await hasEnded(table, [link], END_WAIT_MS)) return link.ended;
  link.kill(TORN_DOWN);
  return `did not end by itself within ${END_WAIT_MS} ms, and was killed`;
}

/** See Owner.leave. */
export async function leave(table: DieTable): Promise<void> {
  const { board, log } = table.options;
  const message = "the owner has left";
  table.gate.leave();
  table.health.stop();
  table.windows.close(refuse("leaving", message));
  const running = table.keepers().flatMap((keeper) => keeper.running());
  for (const link of running) link.kill({ name: "leaving", code: 0, call: "leave", message });
  // The driver closes the dies as the hosts go: until then the slot stays mapped, and whoever holds
  // it stays alive.
  if (await hasEnded(table, running, LEAVE_WAIT_MS)) table.openRungs.leave();
  else {
    // A rung stays open in the journal: it may be what the host is stuck in.
    const pids = table.keepers().flatMap((keeper) => keeper.running().map(({ pid }) => pid));
    log(`die host ${pids.join(", ")} is stuck in the kernel; leaving without its end`);
  }
  board.leave();
}

/** True once all of them have ended; false where the time is over first. */
async function hasEnded(
  table: DieTable,
  links: readonly HostLink[],
  waitMs: number,
): Promise<boolean> {
  let callOff: () => void = () => undefined;
  const late = new Promise<boolean>((resolve) => {
    callOff = table.options.clock.after(waitMs, () => {
      resolve(false);
    });
  });
  const ended = Promise.all(links.map((link) => link.ended)).then(() => true);
  const inTime = await Promise.race([ended, late]);
  callOff();
  return inTime;
}
