/** Brings one die online: the ladder under a lease, and the die's state put right after it. */
import { err, ok, type Result } from "../base/mod.ts";
import { bindDie, makeResident, NO_ORDINAL } from "./bring-up.ts";
import {
  refusalOf,
  rung,
  skipRung,
  type BringUpFailure,
  type BringUpTools,
} from "./bring-up-rung.ts";
import type { Die, Residence } from "./die.ts";
import type { DieTable } from "./die-table.ts";
import { HOST_REPLACED, type JobCause } from "./job.ts";
import type { DieState, OwnerRefusal } from "./reports.ts";
import type { Lease } from "./window.ts";

/** Preconditions: the die is not online, and nobody else climbs for it. */
export async function climb(table: DieTable, die: Die): Promise<Result<void, OwnerRefusal>> {
  const lease = await table.lease(die.number);
  if (!lease.ok) return lease;
  try {
    const done = await climbLeased(table, die, lease.value);
    return done.ok ? done : err(refusalOf(done.error));
  } finally {
    lease.value.release();
  }
}

async function climbLeased(
  table: DieTable,
  die: Die,
  lease: Lease,
): Promise<Result<void, BringUpFailure>> {
  const tools = leasedTools(table, lease);
  const { number } = die;
  if (lease.move === null) {
    const isDirect = table.options.board.slotKind === "direct";
    const why = isDirect ? "every die is mapped" : "it is in the slot";
    skipRung(tools, { die: number, step: "acquire" }, why);
  }
  // A die that was lost may still have a context in the host that others needed until now.
  if (die.keeper.isCondemned) {
    const unread = unreadBeside(table, die);
    if (unread !== null)
      return err(unreadFailure(unread.number, "it holds a context of a lost die"));
    die.keeper.endCondemned();
  }
  die.state = "in-slot";
  const bound = await bindLeased(table, die, lease);
  if (!bound.ok) return bound;
  if (!lease.isValid()) return err(lostMeanwhile(die));
  // Another request's bind may have failed while this one waited for its turn, and said so.
  if (stateOf(die) !== "in-slot") die.state = "in-slot";
  die.state = "bound";
  const resident = await makeResidentCounted(table, tools, die);
  if (!resident.ok) return resident;
  if (stateOf(die) !== "bound") return err(lostMeanwhile(die));
  die.residence = resident.value;
  die.state = "online";
  die.isReady = true;
  return ok(undefined);
}

const windowLost: JobCause = {
  name: "window_lost",
  code: 0,
  call: "window",
  message: "the window was lost under it, and shows no die that is known",
};

/** No rung is run once the window was lost: the die may not be behind it any more. */
export const leasedTools = (table: DieTable, lease: Lease): BringUpTools => ({
  ...table.tools,
  veto: () => (lease.isValid() ? null : windowLost),
});

/** Read anew at each call: it changes while a climb waits. */
const stateOf = (die: Die): DieState => die.state;

const lostMeanwhile = (die: Die): BringUpFailure => ({
  step: "probe",
  kind: "refused",
  verdict: null,
  cause: {
    name: "lost_meanwhile",
    code: 0,
    call: "online",
    message: `it was lost while it came up: ${die.lastCause?.message ?? "no cause was told"}`,
  },
});

/**
 * Binds the die that is in the window. What is known of one that did not get to the driver depends
 * on how that ended. Preconditions: the caller has a lease on it.
 */
export async function bindLeased(
  table: DieTable,
  die: Die,
  lease: Lease,
): Promise<Result<void, BringUpFailure>> {
  const bound = await bindDie(leasedTools(table, lease), die.number);
  if (bound.ok) return bound;
  const { verdict, kind, cause } = bound.error;
  if (verdict === "hung" || kind === "lost") {
    table.noteFault(die, cause.name, cause.message);
    if (!die.isOnline) die.giveUp(verdict === "hung" ? "faulted" : "lost", cause);
  } else if (die.state === "in-slot") die.state = "discovered";
  return bound;
}

/**
 * Binds each of the dies before any of them is brought up, so that one die host counts them all
 * (decision 0013). One that fails is left: it says why when it is brought online.
 */
export async function bindAll(table: DieTable, numbers: readonly number[]): Promise<void> {
  const { board } = table.options;
  if (board.slotKind === "direct" || numbers.length < 2) return;
  for (const number of numbers) {
    const die = await table.dieOf(number);
    if (!die.ok || board.driver.isBound(number)) continue;
    const lease = await table.lease(number);
    if (!lease.ok) continue;
    await bindLeased(table, die.value, lease.value);
    lease.value.release();
  }
}

/** Makes the context, in a new die host where the one that there is cannot count the die. */
async function makeResidentCounted(
  table: DieTable,
  tools: BringUpTools,
  die: Die,
): Promise<Result<Residence, BringUpFailure>> {
  // A host that has counted devices before this die was bound will never count it; one that was
  // there before may be about it.
  const mayHaveCounted = die.keeper.current() !== null;
  const first = await tryResident(table, tools, die);
  if (first.ok || first.error.cause.name !== NO_ORDINAL || !mayHaveCounted) return first;
  const replaced = await replaceHost(table, tools, die);
  if (!replaced.ok) return replaced.error === null ? first : err(replaced.error);
  die.state = "bound";
  return tryResident(table, tools, die);
}

async function tryResident(
  table: DieTable,
  tools: BringUpTools,
  die: Die,
): Promise<Result<Residence, BringUpFailure>> {
  // Binding may take long, and the owner may be gone by then: no host is to be started for it.
  if (table.gate.isLeaving) return err(leftFailure);
  const link = die.keeper.link();
  const resident = await makeResident(tools, die, link);
  if (resident.ok) return resident;
  if (resident.error.kind === "lost") table.fail(die, link, resident.error.cause);
  else if (stateOf(die) === "bound") die.state = "in-slot";
  return resident;
}

/**
 * Puts a host that counts the die in the place of the group's, where one does (decision 0013). The
 * error is null where a new host would count no more than the old one.
 */
async function replaceHost(
  table: DieTable,
  tools: BringUpTools,
  die: Die,
): Promise<Result<void, BringUpFailure | null>> {
  const { log, board } = table.options;
  const { keeper, number } = die;
  const others = table.dies().filter((each) => each !== die && each.keeper === keeper);
  const unread = unreadBeside(table, die);
  if (unread !== null) return err(unreadFailure(unread.number, "it must count this die"));
  const scout = await rung(tools, { die: number, step: "initialise", text: SCOUT_TEXT }, () =>
    keeper.scout(),
  );
  if (!scout.ok) return scout;
  if (tools.veto?.() != null) {
    scout.value.link.kill(windowLost);
    return err(lostMeanwhile(die));
  }
  if (board.ordinalOf(die.board, scout.value.devices) === null) {
    scout.value.link.kill(replacedCause(number));
    return err(null);
  }
  const resident = others.filter(({ isOnline }) => isOnline).map((each) => each.number);
  log(
    ` die ${String(number)}: the die host is replaced, since it counts devices once and has not ` +
      `counted this one; it takes the contexts of dies ${resident.join(", ") || "none"} along, ` +
      "which are made again when they are asked for",
  );
  keeper.replace(scout.value, replacedCause(number));
  return ok(undefined);
}

const SCOUT_TEXT = "opening the backend in a second die host, to count devices again";

const replacedCause = (die: number): JobCause => ({
  name: HOST_REPLACED,
  code: 0,
  call: "die host",
  message: `the die host was replaced so that the driver counts die ${String(die)} in it`,
});

const leftFailure: BringUpFailure = {
  step: "initialise",
  kind: "refused",
  verdict: null,
  cause: { name: "leaving", code: 0, call: "leave", message: "the owner is leaving" },
};

/** Another die whose result would go with the host that it shares with this one. */
const unreadBeside = (table: DieTable, die: Die): Die | null =>
  table.dies().find((each) => each !== die && each.keeper === die.keeper && each.hasUnread) ?? null;

const unreadFailure = (die: number, why: string): BringUpFailure => ({
  step: "ordinals",
  kind: "refused",
  verdict: null,
  cause: {
    name: "work_unread",
    code: 0,
    call: "die host",
    message:
      `the die host must be replaced, since ${why}, and would take the result of die ` +
      `${String(die)} along: 'read ${String(die)}' first`,
  },
});
