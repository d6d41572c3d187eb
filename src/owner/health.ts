/**
 * Keeps `ready` true: asks idle dies now and then whether they still compute, and at once when
 * something was noticed; counts what was noticed; and brings back what was lost. It never moves a
 * window and never touches a die that is at work.
 */
import { err, ok, type Result } from "../base/mod.ts";
import { mendOf, xidOf, type BoardEvent } from "../board/mod.ts";
import { wrongAnswer } from "./bring-up.ts";
import type { Die } from "./die.ts";
import type { DieTable, Serving } from "./die-table.ts";
import type { HostFailure } from "./frames.ts";
import type { JobCause } from "./job.ts";

/** How often each die is asked, in milliseconds: a probe takes less than one. */
export const HEALTH_PERIOD_MS = 30_000;

/** How often a die is tried that is to be asked, or brought back, as soon as it can be. */
export const HEALTH_RECHECK_MS = 1_000;

/** A lost die is tried again after this time, which doubles with each try in vain. */
export const RETRY_MS_FIRST = 1_000;
export const RETRY_MS_MAX = 300_000;

const offBusCause: JobCause = {
  name: "off_bus",
  code: 0,
  call: "presence",
  message: "its PCI configuration space reads all ones: it fell off the bus",
};

const slotLostCause = (text: string): JobCause => ({
  name: "slot_lost",
  code: 0,
  call: "window",
  message: `the window was lost: ${text}`,
});

export class Health {
  readonly #table: DieTable;
  #isStarted = false;
  #isStopped = false;
  #forget: () => void = () => undefined;
  #cancel: () => void = () => undefined;
  #nextRoundMs = 0;
  /** When what presses is looked at again; null where nothing does. */
  #recheckAtMs: number | null = null;
  /** Dies that are being looked after. */
  readonly #inHand = new Set<Die>();

  constructor(table: DieTable) {
    this.#table = table;
  }

  /** From now on. Preconditions: the dies are known. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { board, clock } = this.#table.options;
    this.#forget = board.watch((event) => this.#notice(event));
    this.#nextRoundMs = clock.nowMs() + HEALTH_PERIOD_MS;
    this.#plan();
  }

  stop(): void {
    this.#isStopped = true;
    this.#forget();
    this.#cancel();
  }

  /** Asks a die that can answer now, without a swap, for the probe kernel and its memory. */
  async check(die: Die): Promise<void> {
    if (!this.#mayTouch()) return;
    const serving = this.#table.tryServe(die);
    if (serving === null) return;
    try {
      await this.probe(serving);
    } finally {
      serving.lease.release();
    }
  }

  /**
   * Runs the probe kernel under a lease, once what the die was given before it has ended. A wrong
   * answer, or none, costs the die its host: `lost`. `refused`: the die could not be asked.
   */
  async probe({ die, link }: Serving): Promise<Result<void, HostFailure>> {
    const { baseModule: module } = this.#table.options;
    const { notices } = die;
    const checked = rightOf(await link.call("probe", { die: die.number, module }));
    if (!checked.ok) {
      if (checked.error.kind === "lost") this.#table.fail(die, link, checked.error.cause);
      else die.isReady = false;
      return checked;
    }
    if (die.keeper.current() !== link) return checked;
    die.isReady = true;
    // What was noticed since the probe was sent may have come after its answer.
    if (die.notices === notices) die.isCheckDue = false;
    const memory = await link.call("memory", { die: die.number });
    if (memory.ok) die.memory = memory.value;
    return checked;
  }

  /** After `resume`: whatever was noticed while no die was to be touched is looked into now. */
  resume(): void {
    if (!this.#mayTouch()) return;
    for (const die of this.#table.dies()) if (die.isCheckDue) this.#askNow(die);
    this.#plan();
  }

  /** The die could not be brought back: it is tried again, each time after a longer pause. */
  retryLater(die: Die): void {
    const pauseMs = Math.min((die.retry?.pauseMs ?? RETRY_MS_FIRST / 2) * 2, RETRY_MS_MAX);
    die.retry = { pauseMs, atMs: this.#table.options.clock.nowMs() + pauseMs };
    this.#plan();
  }

  #mayTouch(): boolean {
    return !this.#isStopped && this.#table.gate.touchRefusal() === null;
  }

  /** Plans the next tick. A die that is being looked after plans anew when that has ended. */
  #plan(): void {
    if (!this.#isStarted || this.#isStopped) return;
    this.#cancel();
    const { clock } = this.#table.options;
    const nowMs = clock.nowMs();
    const idle = this.#table.dies().filter((die) => !this.#inHand.has(die));
    const isPressing = idle.some((die) => die.isCheckDue || die.keeper.isCondemned);
    // It stays where it was: notices that come without end are not to put it off without end.
    this.#recheckAtMs = isPressing ? (this.#recheckAtMs ?? nowMs + HEALTH_RECHECK_MS) : null;
    const retries = idle.flatMap(({ retry }) => (retry === null ? [] : [retry.atMs]));
    const nextMs = Math.min(this.#nextRoundMs, this.#recheckAtMs ?? Infinity, ...retries);
    const ms = Math.max(0, nextMs - nowMs);
    this.#cancel = clock.afterInBackground(ms, () => this.#tick());
  }

  #tick(): void {
    const { clock } = this.#table.options;
    const isRound = clock.nowMs() >= this.#nextRoundMs;
    if (isRound) this.#nextRoundMs = clock.nowMs() + HEALTH_PERIOD_MS;
    this.#recheckAtMs = null;
    const dies = this.#mayTouch() ? this.#table.dies() : [];
    for (const die of dies) this.#inTurn(die, () => this.#lookAfter(die, isRound));
    this.#plan();
  }

  /** One thing at a time for each die; a slow one keeps no other die waiting. */
  #inTurn(die: Die, task: () => Promise<void>): void {
    if (this.#inHand.has(die)) return;
    this.#inHand.add(die);
    void this.#table.gate.during(task()).finally(() => {
      this.#inHand.delete(die);
      this.#plan();
    });
  }

  #askNow(die: Die): void {
    this.#inTurn(die, () => this.#checkOrLook(die));
  }

  async #lookAfter(die: Die, isRound: boolean): Promise<void> {
    if (die.keeper.isCondemned && !this.#isGroupBusy(die)) die.keeper.endCondemned();
    if (die.retry !== null && die.retry.atMs <= this.#table.options.clock.nowMs()) {
      await this.#tryAgain(die);
    } else if (isRound) await this.#checkOrLook(die);
    else if (die.isCheckDue) await this.check(die);
  }

  /** A die that cannot be asked now, since it is at work or not mapped, can still be looked for. */
  async #checkOrLook(die: Die): Promise<void> {
    if (!die.isOnline) return;
    const serving = this.#table.tryServe(die);
    if (serving === null) {
      await this.#look(die);
      return;
    }
    let answer: Result<void, HostFailure>;
    try {
      answer = await this.probe(serving);
    } finally {
      serving.lease.release();
    }
    if (!answer.ok) await this.#look(die);
  }

  /** Asks the bus for the die, and not the die. */
  async #look(die: Die): Promise<void> {
    if ((await this.#table.options.board.presence(die.number)) !== "off_bus") return;
    const { name, message } = offBusCause;
    this.#table.noteFault(die, name, message);
    if (die.isOnline) this.#table.loseDie(die, offBusCause);
  }

  /** Not while it is off the bus: a bring-up would only add to what is wrong. */
  async #tryAgain(die: Die): Promise<void> {
    if (die.isOnline) {
      die.retry = null;
      return;
    }
    const presence = await this.#table.options.board.presence(die.number);
    if (presence === "off_bus") this.retryLater(die);
    else await this.#table.restore(die);
  }

  #isGroupBusy(die: Die): boolean {
    return this.#table
      .dies()
      .filter(({ keeper }) => keeper === die.keeper)
      .some((each) => each.hasUnread || this.#table.windows.of(each.number).isBusy(each.number));
  }

  #notice(event: BoardEvent): void {
    const named = this.#table.dies().find(({ number }) => number === event.die) ?? null;
    const name = event.kind === "xid" ? `xid ${String(event.xid)}` : event.kind;
    const isNew = this.#table.noteFault(named, name, event.text);
    if (isNew) this.#table.options.log(eventLine(event));
    const kind = event.kind === "xid" ? xidOf(event.xid ?? -1, event.text).class : "die";
    if (kind === "application" || kind === "notice") return;
    // What names no die may be any of them: all are asked, and none is condemned by it.
    const concerned = named === null ? this.#table.dies() : [named];
    if (event.kind === "slot_lost") this.#loseWindows(concerned, event.text);
    else this.#suspect(concerned, isNew);
  }

  /**
   * The dies are to be asked: at once, or within the time of a recheck where the same was noticed
   * just before, since drivers repeat themselves.
   */
  #suspect(dies: readonly Die[], isNew: boolean): void {
    const mayTouch = this.#mayTouch();
    for (const die of dies.filter(({ isOnline }) => isOnline)) {
      die.isCheckDue = true;
      die.notices += 1;
      // It says nothing now, parked or behind the window; whoever wants it next asks it first.
      const isMapped = this.#table.windows.of(die.number).isMapped(die.number);
      if (!mayTouch || !isMapped) die.isReady = false;
    }
    if (mayTouch && isNew) for (const die of dies) this.#askNow(die);
    this.#plan();
  }

  /** The window shows nothing we know: no context behind it can be touched any more. */
  #loseWindows(dies: readonly Die[], text: string): void {
    const cause = slotLostCause(text);
    const { board } = this.#table.options;
    for (const group of new Set(dies.map(({ number }) => board.hostGroupOf(number)))) {
      this.#table.windows.ofGroup(group).forget();
      const lost = this.#table.dies().filter(({ number }) => board.hostGroupOf(number) === group);
      // One that comes up is lost as well: its climb ends before the next rung.
      for (const die of lost) {
        if (["in-slot", "bound", "online"].includes(die.state)) die.lose("lost", cause);
      }
      const [keeper] = lost.map((die) => die.keeper);
      const link = keeper?.current() ?? null;
      if (keeper === undefined) continue;
      // The end of a host touches its dies as well: a parked owner leaves that for later.
      if (link !== null && this.#mayTouch()) keeper.kill(link, cause);
      else if (link !== null) keeper.condemn(cause);
      // Told last: a host that was at work is gone by now.
      void keeper.tellWindow(null);
    }
  }
}

/** Whether the die computes right: a wrong answer is a loss, a refusal only no answer. */
function rightOf(
  answer: Result<{ readonly right: boolean }, HostFailure>,
): Result<void, HostFailure> {
  if (!answer.ok) return answer;
  return answer.value.right ? ok(undefined) : err({ kind: "lost", cause: wrongAnswer });
}

function eventLine({ die, kind, xid, text }: BoardEvent): string {
  const whose = die === null ? "no die named" : `die ${String(die)}`;
  if (kind !== "xid" || xid === null) return ` ${whose}: ${kind}: ${text}`;
  const { name, meaning, ...known } = xidOf(xid, text);
  const what = `xid ${String(xid)} (${name}, ${known.class}): ${meaning}`;
  return ` ${whose}: ${what}; ${mendOf({ name, meaning, ...known })}; ${text}`;
}
