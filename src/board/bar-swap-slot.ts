/**
 * The bar_swap slot, over a process that holds its device. A move is a RELEASE of the die that is
 * in it and an ACQUIRE of the other, in one step of that process. Nothing else is ever released,
 * and the end of that process releases nothing either.
 */
import { createMutex, err, ok, type EventClock } from "../base/mod.ts";
import { BAR_SWAP_VERSION } from "./bar-swap-abi.ts";
import type { SlotView } from "./board.ts";
import {
  boardStep,
  failedStep,
  lost,
  refused,
  type StepOutcome,
  type StepTimeouts,
} from "./board-step.ts";
import { parsePciAddress } from "./pci-address.ts";
import { readPciFunction } from "./pci-function.ts";
import { askPresence, type PresenceTools } from "./presence.ts";
import { describeHolder, foreignHolder, type SlotHolder } from "./slot-holder.ts";
import type { SlotBar, SlotDie, SlotMove, SlotQuery, StepError } from "./step-protocol.ts";
import type { StepRunner } from "./step-runner.ts";

export type SlotOptions = {
  /** `/`, or a folder that stands for it. */
  readonly root: string;
  readonly devicePath: string;
  /** The slot process: it stays, and holds the device. */
  readonly holder: StepRunner;
  /** Takes the first look at a die that was just mapped, which can hang with it. */
  readonly presence: PresenceTools;
  readonly timeouts: StepTimeouts;
  readonly clock: EventClock;
};

/** How long a holder that is about to go is waited for: a killed owner's slot process ends then. */
const HOLDER_GOES_MS = 5000;
const HOLDER_POLL_MS = 50;

/** More dies than any board has: what says more is not a bar_swap device. */
const SLOT_DIES_MAX = 256;

/** What an operator would call a move. */
const MOVE = "ACQUIRE";

/** What a look at the slot found that was not as we left it; null where it was. */
export type SlotLoss = { readonly die: number; readonly text: string } | null;

export class BarSwapSlot {
  readonly #options: SlotOptions;
  readonly #turn = createMutex();
  #dies: readonly SlotDie[] = [];
  #occupant: number | null = null;
  /** False once a call hung: looking at the slot again would leave one more process behind. */
  #isAnswering = true;

  constructor(options: SlotOptions) {
    this.#options = options;
  }

  /** The die in the slot, as of the last look. */
  get occupant(): number | null {
    return this.#occupant;
  }

  /** Which PCI functions the dies are, by number; adopts the die that is in the slot. */
  discover(): Promise<StepOutcome<readonly SlotDie[]>> {
    return this.#turn.run(async () => {
      const query = await this.#query();
      if (!query.ok) return query;
      const { dieCount, occupant } = query.value;
      if (dieCount > SLOT_DIES_MAX) {
        return refused("QUERY", `${this.#options.devicePath} says it has ${dieCount} dies`);
      }
      const dies: SlotDie[] = [];
      for (let die = 0; die < dieCount; die++) {
        const found = await this.#ask("slotDie", "DIE", { die });
        if (!found.ok) return found;
        dies.push(found.value);
      }
      this.#dies = dies;
      this.#occupant = occupant;
      return ok(dies);
    });
  }

  /** Moves the window onto the die, and looks whether the die is really there. */
  move(die: number): Promise<StepOutcome<SlotView>> {
    return this.#turn.run(async () => {
      const query = await this.#queryOnceFree();
      if (!query.ok) return query;
      const before = query.value.occupant;
      this.#occupant = before;
      const from = before === die ? null : before;
      const moved = await this.#ask("slotMove", MOVE, { from, to: die });
      if (!moved.ok) return moved;
      if ("refused" in moved.value) return this.#settleRefused(from, moved.value);
      this.#occupant = die;
      return this.#verify(die, moved.value.bar);
    });
  }

  /**
   * The die before is in the slot again, unless that failed too: we never mean to leave with the
   * slot free, which would take the bus from under a driver that still has the die open.
   */
  #settleRefused(
    from: number | null,
    { refused: error, lost: backError }: Extract<SlotMove, { readonly refused: StepError }>,
  ): StepOutcome<never> {
    const failure = failedStep({ name: MOVE }, error);
    this.#occupant = backError === null ? from : null;
    if (from === null) return err(failure);
    const now =
      backError === null ? "is back in the slot" : `did not come back: ${backError.message}`;
    return err({ ...failure, message: `${failure.message}; die ${from} ${now}` });
  }

  /** Looks at the slot; tells where it is not as we left it. */
  look(): Promise<SlotLoss> {
    return this.#turn.run(async () => {
      const die = this.#occupant;
      if (die === null || !this.#isAnswering) return null;
      const query = await this.#query();
      if (!query.ok) {
        return query.error.verdict === "hung" ? { die, text: query.error.message } : null;
      }
      const { occupant } = query.value;
      const holder = this.#foreign(query.value);
      if (occupant === die && holder === null) return null;
      this.#occupant = holder === null ? occupant : null;
      const now = occupant === null ? "it is free" : `die ${occupant} is in it`;
      const who = holder === null ? "" : `, held by ${describeHolder(holder)}`;
      return { die, text: `die ${die} was in the slot, and now ${now}${who}` };
    });
  }

  /** Bytes of BAR1 of the die in the slot, copied between two moves. */
  read(offset: number, bytes: number): Promise<StepOutcome<Uint8Array>> {
    return this.#turn.run(async () => {
      const read = await this.#ask("slotRead", "read BAR1", { offset, bytes });
      return read.ok ? ok(Uint8Array.from(Buffer.from(read.value.bytes, "base64"))) : read;
    });
  }

  async #query(): Promise<StepOutcome<SlotQuery>> {
    const { holder, timeouts, devicePath } = this.#options;
    const timeoutMs = timeouts.slotQueryMs;
    const at = { call: "slotQuery", name: "QUERY", timeoutMs } as const;
    const query = await boardStep(holder, at, {});
    this.#isAnswering = query.ok || query.error.verdict !== "hung";
    if (!query.ok || query.value.version === BAR_SWAP_VERSION) return query;
    const has = `${devicePath} speaks version ${query.value.version} of its calls`;
    return refused(
      "QUERY",
      `${has}, and we speak ${BAR_SWAP_VERSION}: update the older of the two`,
    );
  }

  /** QUERY, once nobody else has the slot; refused where somebody goes on to have it. */
  async #queryOnceFree(): Promise<StepOutcome<SlotQuery>> {
    const { clock } = this.#options;
    const untilMs = clock.nowMs() + HOLDER_GOES_MS;
    for (;;) {
      const query = await this.#query();
      if (!query.ok) return query;
      const holder = this.#foreign(query.value);
      if (holder === null) return query;
      if (clock.nowMs() >= untilMs) return refused("acquire", heldBy(holder, query.value));
      await clock.sleep(HOLDER_POLL_MS);
    }
  }

  #foreign({ holderPid, occupant }: SlotQuery): SlotHolder | null {
    const { root, devicePath, holder } = this.#options;
    if (occupant === null) return null;
    return foreignHolder(root, { holderPid, ownPid: holder.pid() }, devicePath);
  }

  #ask<K extends "slotDie" | "slotMove" | "slotRead">(
    call: K,
    name: string,
    body: Parameters<typeof boardStep<K>>[2],
  ): ReturnType<typeof boardStep<K>> {
    const { holder, timeouts } = this.#options;
    const timeoutMs = call === "slotDie" ? timeouts.slotQueryMs : timeouts.slotMoveMs;
    return boardStep(holder, { call, name, timeoutMs }, body);
  }

  /** The die must answer, and the kernel must have its BAR1 where the slot says that it is. */
  async #verify(die: number, bar: SlotBar): Promise<StepOutcome<SlotView>> {
    const { root, presence } = this.#options;
    const name = this.#dies[die]?.address ?? "";
    const looked = await askPresence(presence, name);
    if (!looked.ok) return looked;
    if (looked.value === "off_bus") {
      return lost("acquire", `${name} is in the slot and does not answer: it fell off the bus`);
    }
    const address = parsePciAddress(name);
    const found = address === null ? null : readPciFunction(root, address);
    if (found === null)
      return lost("acquire", `${name} is in the slot, and sysfs has no such device`);
    const bar1 = found.bars.find(({ index }) => index === 1);
    const bar1Address = BigInt(bar.bar1Address);
    if (bar1?.isAssigned !== true || bar1.address !== bar1Address) {
      const has = bar1?.isAssigned === true ? `at 0x${bar1.address.toString(16)}` : "not assigned";
      const says = `the slot has its BAR1 at 0x${bar1Address.toString(16)}`;
      return refused(
        "acquire",
        `${name}: ${says}, and for the kernel it is ${has}; no driver can use it so, see ` +
          "`holdfast doctor`",
      );
    }
    return ok({ die, bar1Address });
  }
}

const heldBy = (holder: SlotHolder, { occupant }: SlotQuery): string =>
  `die ${String(occupant)} is in the slot and ${describeHolder(holder)} holds it; end that ` +
  "process, or leave the board to it";
