/**
 * The owner: holds every die's context resident, moves the window between them, and runs work on
 * them. It holds no native code and no payload; both live in die hosts.
 */
import { createMutex, err, ok, type EventClock, type Log, type Result } from "../base/mod.ts";
import type { Board, BoardDie, BoardFailure, CountedDevice } from "../board/mod.ts";
import type { BringUpFailure, BringUpTools, RungPace } from "./bring-up-rung.ts";
import { climb } from "./climb.ts";
import { Die } from "./die.ts";
import { FaultCounts } from "./fault-counts.ts";
import type { HostFailure } from "./frames.ts";
import { Health } from "./health.ts";
import { HostKeeper } from "./host-keeper.ts";
import type { HostLauncher, HostLink } from "./host-link.ts";
import type { Journal } from "./journal.ts";
import { describeCause, HOST_REPLACED, type JobCause, type ModuleReference } from "./job.ts";
import {
  DIES_MAX,
  type Discovery,
  type OnlineReport,
  type OwnerRefusal,
  type OwnerRefusalCode,
} from "./reports.ts";
import { OpenRungs } from "./open-rungs.ts";
import { StopGate } from "./stop-gate.ts";
import { DEFAULT_WINDOW_POLICY, type Lease, type WindowPolicy } from "./window.ts";
import { noWedges, type Wedges } from "./wedge.ts";
import { WindowSet } from "./window-set.ts";

export type OwnerOptions = {
  readonly board: Board;
  readonly launchHost: HostLauncher;
  /** The base payload, which every context loads. */
  readonly baseModule: ModuleReference;
  readonly log: Log;
  readonly journal: Journal;
  /** What earlier owners' climbs tell of; nothing where it is left out. */
  readonly wedges?: Wedges;
  readonly clock: EventClock;
  readonly windowPolicy?: WindowPolicy;
  /** Elements of the standing work; WORK_ELEMENTS where it is left out. */
  readonly workElements?: number;
};

export const refuse = (code: OwnerRefusalCode, message: string): Result<never, OwnerRefusal> =>
  err({ code, message });

/** A die that is leased and online, and the host that has its context. */
export type Serving = { readonly die: Die; readonly lease: Lease; readonly link: HostLink };

/** How often a die that is lost again while a request waits for it is brought back for it. */
const SERVE_TRIES_MAX = 3;

/** The dies, their hosts and the windows: what every operation of the owner works on. */
export class DieTable {
  readonly options: OwnerOptions;
  readonly windows: WindowSet;
  readonly #dies = new Map<number, Die>();
  readonly #keepers = new Map<number, HostKeeper>();
  readonly tools: BringUpTools;
  readonly openRungs: OpenRungs;
  readonly wedges: Wedges;
  readonly health: Health;
  /** Faults that name no die. */
  readonly faults = new FaultCounts();
  /** Who watches the climbs; null where nobody does. */
  pace: RungPace | null = null;
  readonly #notes = new Set<string>();
  readonly gate: StopGate;

  constructor(options: OwnerOptions) {
    const { board, log, windowPolicy: policy = DEFAULT_WINDOW_POLICY } = options;
    this.options = options;
    this.gate = new StopGate(options);
    this.wedges = options.wedges ?? noWedges();
    this.openRungs = new OpenRungs(options.journal);
    this.tools = {
      ...options,
      journal: this.openRungs,
      wedges: this.wedges,
      driverLock: createMutex(),
      pace: () => this.pace,
      addressOf: (die) => this.#dies.get(die)?.board.address ?? null,
    };
    this.windows = new WindowSet({
      ...options,
      policy,
      rungs: this.tools,
      onFailure: (die, failure) => this.#onMoveFailure(die, failure),
      keeperOf: (group) => this.#keeperOf(group),
    });
    this.health = new Health(this);
    log(`owner: slot ${board.slotKind}`);
  }

  /** All dies that were discovered, by number. */
  dies(): readonly Die[] {
    return [...this.#dies.values()].sort((a, b) => a.number - b.number);
  }

  keepers(): readonly HostKeeper[] {
    return [...this.#keepers.values()];
  }

  /** Finds the dies; those that are known stay as they are. */
  async discover(): Promise<Result<Discovery, OwnerRefusal>> {
    const refused = this.gate.touchRefusal();
    if (refused !== null) return refused;
    const found = await this.options.board.discover(() => this.inventory());
    if (!found.ok) return refuse("no_device", `${found.error.call}: ${found.error.message}`);
    for (const board of found.value.slice(0, DIES_MAX)) {
      if (!this.#dies.has(board.die)) this.#dies.set(board.die, this.#createDie(board));
    }
    this.health.start();
    const dies = this.dies().map(({ number, board, residence }) => ({
      die: number,
      address: board.address,
      deviceName: residence?.device.name ?? board.name,
    }));
    // What an owner before us left in the slot is there, though no lease of ours has moved it.
    const occupant = this.windows.occupant() ?? this.options.board.occupant(0);
    return ok({ dies, occupant });
  }

  /** What devices the driver counts, asked through the first host. */
  async inventory(): Promise<Result<readonly CountedDevice[], BoardFailure>> {
    const keeper = this.#keeperOf(0);
    const devices = await keeper.initialise(keeper.link());
    if (devices.ok) return devices;
    const { call, message } = devices.error.cause;
    return err({ verdict: "refused", call, message });
  }

  /** The die of that number, discovering first where nobody has. */
  async dieOf(number: number): Promise<Result<Die, OwnerRefusal>> {
    const refused = this.gate.touchRefusal();
    if (refused !== null) return refused;
    if (!Number.isInteger(number) || number < 0 || number >= DIES_MAX) {
      return refuse("no_such_die", `bad die ${String(number)} (range 0..${String(DIES_MAX - 1)})`);
    }
    if (this.#dies.size === 0) {
      const found = await this.discover();
      if (!found.ok) return found;
    }
    const die = this.#dies.get(number);
    if (die !== undefined) return ok(die);
    const last = this.#dies.size - 1;
    return refuse("no_such_die", `no die ${String(number)} here (found: 0..${String(last)})`);
  }

  /** A lease on a die that is online; one that was lost is brought back first. */
  async serve(number: number): Promise<Result<Serving, OwnerRefusal>> {
    const found = await this.dieOf(number);
    if (!found.ok) return found;
    const die = found.value;
    const triesMax = SERVE_TRIES_MAX + DIES_MAX;
    for (let [tries, losses] = [0, 0]; losses < SERVE_TRIES_MAX && tries < triesMax; tries++) {
      if (!die.isOnline) {
        if (!die.isWanted) {
          return refuse("not_online", `die not online; run 'online ${number}' first`);
        }
        const back = await this.bringOnline(die);
        if (!back.ok) return back;
      }
      const serving = await this.leaseOnline(die);
      if (!serving.ok) return serving;
      if (serving.value !== null) return ok(serving.value);
      // A host that is replaced for a die that comes up is no fault, and happens once a die.
      if (die.lastCause?.name !== HOST_REPLACED) losses += 1;
    }
    return refuse("die_failed", `it is lost again and again: ${die.lastCause?.message ?? ""}`);
  }

  /** The one way to a die that may take a move of the window. */
  lease(number: number): Promise<Result<Lease, OwnerRefusal>> {
    return this.gate.touch(() => this.windows.of(number).lease(number));
  }

  /** A lease on the die, or null where it is not online by the time that its turn comes. */
  async leaseOnline(die: Die): Promise<Result<Serving | null, OwnerRefusal>> {
    const lease = await this.lease(die.number);
    if (!lease.ok) return lease;
    const link = die.keeper.current();
    if (die.isOnline && link !== null) {
      const serving = { die, lease: lease.value, link };
      // What was noticed while it was not mapped, or at work, is looked into before it works on.
      const answer = die.isCheckDue ? await this.health.probe(serving) : ok(undefined);
      if (answer.ok) return ok(serving);
      if (answer.error.kind === "refused") {
        lease.value.release();
        const why = `it is to be asked before it works on, and was not: `;
        return refuse("die_failed", `${why}${describeCause(answer.error.cause)}`);
      }
    }
    lease.value.release();
    return ok(null);
  }

  /** A lease on a die that is idle, online and mapped; null where it is not all three of these. */
  tryServe(die: Die): Serving | null {
    const window = this.windows.of(die.number);
    const link = die.keeper.current();
    if (!die.isOnline || link === null || window.isBusy(die.number)) return null;
    const lease = this.gate.touchNow(() => window.tryLease(die.number));
    return lease === null ? null : { die, lease, link };
  }

  /** Brings the die online where it is not. Two callers at once bring it up once. */
  bringOnline(die: Die): Promise<Result<OnlineReport, OwnerRefusal>> {
    return die.bringUpLock.run(async () => {
      const startMs = this.options.clock.nowMs();
      const wasOnline = die.isOnline;
      if (!wasOnline) {
        const done = await climb(this, die);
        if (!done.ok) return done;
      }
      const { residence } = die;
      if (residence === null) return refuse("die_failed", die.lastCause?.message ?? "it was lost");
      die.isWanted = true;
      return ok({
        die: die.number,
        wasOnline,
        ordinal: residence.ordinal,
        address: die.board.address,
        deviceName: residence.device.name,
        inputAddress: residence.inputAddress,
        outputAddress: residence.outputAddress,
        elapsedMs: this.options.clock.nowMs() - startMs,
      });
    });
  }

  /**
   * The die's context in `link` failed: that host is ended, and what it held is brought back. Where
   * the host is gone already, its death was told, and the one in its place has done nothing wrong.
   */
  fail(die: Die, link: HostLink, cause: JobCause): void {
    if (die.keeper.current() !== link) return;
    this.noteFault(die, cause.name, cause.message);
    if (die.state === "bound" || die.state === "online") die.lose("faulted", cause);
    die.keeper.kill(link, cause);
  }

  /**
   * The die is gone from the board, whatever its context still says: its host is replaced, as soon
   * as no other die has work under way in it, or a result that nobody has read.
   */
  loseDie(die: Die, cause: JobCause): void {
    if (die.state === "faulted" || die.state === "lost") return;
    die.lose("lost", cause);
    this.options.log(` die ${String(die.number)}: lost: ${cause.message}`);
    const { keeper } = die;
    const isShared = this.dies().some(
      (other) =>
        other !== die &&
        other.keeper === keeper &&
        (other.hasUnread || this.windows.of(other.number).isBusy(other.number)),
    );
    const link = keeper.current();
    if (isShared) keeper.condemn(cause);
    else if (link !== null) keeper.kill(link, cause);
  }

  /** Counts a fault of the die; null: of the board. False where it was told just before. */
  noteFault(die: Die | null, name: string, text: string): boolean {
    return (die?.faults ?? this.faults).add(name, text, this.options.clock.nowMs());
  }

  /** Tells apart what a host refused and what it lost; a loss ends the host. */
  settle(die: Die, link: HostLink, failure: HostFailure): Result<never, OwnerRefusal> {
    if (failure.kind === "lost") this.fail(die, link, failure.cause);
    return refuse("die_failed", describeCause(failure.cause));
  }

  /** A window that did not reach the die says something of the die as well. */
  #onMoveFailure(number: number, { verdict, cause }: BringUpFailure): void {
    const die = this.#dies.get(number);
    if (die === undefined || verdict === null || verdict === "refused") return;
    this.noteFault(die, cause.name, cause.message);
    if (verdict === "lost") this.loseDie(die, cause);
    else if (die.isOnline) die.isReady = false;
    else die.giveUp("faulted", cause);
  }

  #createDie(board: BoardDie): Die {
    return new Die(board, this.#keeperOf(this.options.board.hostGroupOf(board.die)));
  }

  #keeperOf(group: number): HostKeeper {
    const held = this.#keepers.get(group);
    if (held !== undefined) return held;
    const keeper: HostKeeper = new HostKeeper({
      launch: this.options.launchHost,
      hasWindow: this.options.board.slotKind !== "direct",
      clock: this.options.clock,
      onDeath: (cause, pid) => this.#onHostDeath(keeper, cause, pid),
      onNote: (note) => {
        if (!this.#notes.has(note)) this.options.log(note);
        this.#notes.add(note);
      },
    });
    this.#keepers.set(group, keeper);
    return keeper;
  }

  #onHostDeath(keeper: HostKeeper, cause: JobCause, pid: number | null): void {
    if (this.gate.isLeaving) return;
    const { log } = this.options;
    log(`die host ${String(pid)} is gone: ${cause.message}`);
    for (const die of this.dies()) {
      if (die.keeper !== keeper || die.state === "discovered" || die.state === "in-slot") continue;
      if (die.state !== "faulted" && die.state !== "lost") die.lose("lost", cause);
      log(` die ${String(die.number)}: ${die.state}: ${cause.message}`);
      if (die.wasServing) void this.restore(die);
    }
  }

  /** After `resume`: brings back what was lost while nothing was to be started. */
  restoreWanted(): void {
    for (const die of this.dies()) if (die.isWanted && !die.isOnline) void this.restore(die);
  }

  /**
   * Brings a die back unasked; in vain, it is tried again later. Behind a window it comes back on
   * demand: moving the window now would thrash. While the owner stops, one does that is needed for
   * work that was accepted.
   */
  async restore(die: Die): Promise<void> {
    if (this.options.board.slotKind !== "direct") return;
    if (this.gate.workRefusal() !== null) {
      die.retry = null;
      return;
    }
    const isBack = this.#bringBack(die);
    await this.gate.track(`bringing die ${String(die.number)} back`, isBack, (isWell) => isWell);
  }

  /** True where it serves again. */
  async #bringBack(die: Die): Promise<boolean> {
    const startMs = this.options.clock.nowMs();
    const back = await this.bringOnline(die);
    const name = `die ${String(die.number)}`;
    if (!back.ok) {
      this.options.log(` ${name}: not back yet: ${back.error.message}`);
      if (!this.gate.isLeaving) this.health.retryLater(die);
      return false;
    }
    die.retry = null;
    // Somebody else has brought it back meanwhile, and has said so.
    if (back.value.wasOnline) return true;
    die.restarts += 1;
    const tookMs = Math.round(this.options.clock.nowMs() - startMs);
    this.options.log(` ${name}: serving again after ${String(tookMs)} ms`);
    return true;
  }
}
