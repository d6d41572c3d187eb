/** The windows of a board, one for each group of dies that share one, and how they are moved. */
import { err, ok, type EventClock, type Log, type Result } from "../base/mod.ts";
import type { Board } from "../board/mod.ts";
import { refusalOf, rung, type BringUpFailure, type RungTools } from "./bring-up-rung.ts";
import type { HostKeeper } from "./host-keeper.ts";
import type { JobCause } from "./job.ts";
import type { OwnerRefusal, SwapTimes, WindowStatus } from "./reports.ts";
import { swapTimesOf } from "./swap-times.ts";
import {
  createOpenWindow,
  createSingleWindow,
  type MoveTimes,
  type Window,
  type WindowPolicy,
} from "./window.ts";

/** How long a die host may take to hear that the window has moved: it does nothing but note it. */
const NOTICE_MS_MAX = 10_000;

const noticeCause: JobCause = {
  name: "host_stuck",
  code: 0,
  call: "window",
  message:
    `the die host was told that the window has moved and did not answer for ${NOTICE_MS_MAX} ms, ` +
    "so it is stuck in a driver call; it is replaced",
};

export type WindowSetOptions = {
  readonly board: Board;
  readonly clock: EventClock;
  readonly log: Log;
  readonly rungs: RungTools;
  /** Told of each move that failed. */
  readonly onFailure: (die: number, failure: BringUpFailure) => void;
  readonly policy: WindowPolicy;
  /** What keeps the die host of a group. */
  readonly keeperOf: (group: number) => HostKeeper;
};

export class WindowSet {
  readonly #options: WindowSetOptions;
  readonly #windows = new Map<number, Window>();

  constructor(options: WindowSetOptions) {
    this.#options = options;
  }

  /** Null where every die is mapped. */
  get policy(): WindowPolicy | null {
    return this.#options.board.slotKind === "direct" ? null : this.#options.policy;
  }

  /** The window that shows the die, or would. */
  of(die: number): Window {
    return this.ofGroup(this.#options.board.hostGroupOf(die));
  }

  ofGroup(group: number): Window {
    const held = this.#windows.get(group);
    if (held !== undefined) return held;
    const { policy } = this;
    const { clock } = this.#options;
    const move = (die: number): Promise<Result<MoveTimes, OwnerRefusal>> => this.#move(die);
    const made = policy === null ? createOpenWindow() : createSingleWindow({ clock, policy, move });
    this.#windows.set(group, made);
    return made;
  }

  /** All that were asked for so far. */
  all(): readonly Window[] {
    return [...this.#windows.values()];
  }

  /** The die in the first window; null where that is free, or every die is mapped. */
  occupant(): number | null {
    return this.statuses()[0]?.occupant ?? null;
  }

  /** By group; none where every die is mapped. */
  statuses(): readonly WindowStatus[] {
    if (this.policy === null) return [];
    return [...this.#windows]
      .sort(([left], [right]) => left - right)
      .map(([group, { state, swapLog }]) => ({
        group,
        ...state(),
        swaps: swapLog.count,
        swapTimes: swapTimesOf([swapLog]),
      }));
  }

  /** Refuses who waits, and who comes from now on. */
  close(refusal: Result<never, OwnerRefusal>): void {
    for (const window of this.#windows.values()) window.close(refusal);
  }

  /** Of all windows together; null where none was ever moved. */
  swapTimes(): SwapTimes | null {
    return swapTimesOf(this.all().map(({ swapLog }) => swapLog));
  }

  async #move(die: number): Promise<Result<MoveTimes, OwnerRefusal>> {
    const { board, log, clock, rungs, onFailure } = this.#options;
    let [startMs, acquiredMs] = [0, 0];
    const view = await rung(rungs, { die, step: "acquire" }, async () => {
      startMs = clock.nowMs();
      const acquired = await board.acquire(die);
      acquiredMs = clock.nowMs();
      return acquired;
    });
    if (!view.ok) {
      onFailure(die, view.error);
      return err(refusalOf(view.error));
    }
    log(` die ${String(die)} in MMIO slot (bar1=0x${view.value.bar1Address.toString(16)})`);
    return ok({ boardMs: acquiredMs - startMs, noticeMs: await this.#tellHost(die) });
  }

  /**
   * Tells the group's host which die the window shows now. One that does not answer is stuck, and
   * is ended: else nobody would get the window any more. Milliseconds that it took.
   */
  async #tellHost(die: number): Promise<number> {
    const { board, clock, keeperOf } = this.#options;
    const keeper = keeperOf(board.hostGroupOf(die));
    const host = keeper.current();
    const told = keeper.tellWindow(die);
    if (host === null) return 0;
    const startMs = clock.nowMs();
    const callOff = clock.after(NOTICE_MS_MAX, () => keeper.kill(host, noticeCause));
    await told;
    callOff();
    return clock.nowMs() - startMs;
  }
}
