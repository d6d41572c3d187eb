/** Board events out of the kernel's log: what `Board.watch` offers, for dies by their address. */
import type { EventClock } from "../base/mod.ts";
import type { BoardDie } from "./board.ts";
import { createEventSource, type EventSource } from "./event-source.ts";
import {
  followKernelLog,
  openKernelLog,
  type KernelLogSource,
  type KernelRecord,
} from "./kernel-log.ts";
import { boardEventOf, XidScanner, type XidSighting } from "./xid.ts";

export type KernelWatchOptions = {
  readonly clock: EventClock;
  /** The dies as far as they are known by now. */
  readonly dies: () => readonly BoardDie[];
  /** Takes a line that the operator should see. */
  readonly onNote: (line: string) => void;
  /** Opens the log; `/dev/kmsg` where it is left out. */
  readonly open?: () => KernelLogSource;
};

/** The log is open while somebody listens, so that a command that only lists dies leaves it be. */
export function createKernelWatch(options: KernelWatchOptions): EventSource {
  return createEventSource((tell) => {
    const scan = createScan();
    return followKernelLog({
      clock: options.clock,
      onNote: options.onNote,
      open: options.open ?? ((): KernelLogSource => openKernelLog("/")),
      // The driver says only once which die it calls by which UUID.
      onOldRecord: (record) => void scan(record),
      onRecord: (record) => {
        for (const sighting of scan(record)) {
          const event = boardEventOf(sighting, options.dies());
          if (event !== null) tell(event);
        }
      },
    });
  });
}

/** Longest message that is put together from its continuations, in characters. */
const MESSAGE_CHARACTERS_MAX = 4096;

/** A message that breaks off before the number of its Xid. */
const OPEN_XID = /\bXid\s*(?:\([^)\n]{0,120}\)?)?\s*:?\s*$/i;

/** Scans records, and a message in several of them as one, unless its start said something. */
function createScan(): (record: KernelRecord) => readonly XidSighting[] {
  const scanner = new XidScanner();
  let unfinished = "";
  return ({ text, isContinuation, isPiece }) => {
    const goesOn = isContinuation || (isPiece && OPEN_XID.test(unfinished));
    const whole = goesOn ? `${unfinished}${text}`.slice(-MESSAGE_CHARACTERS_MAX) : text;
    const found = scanner.push(whole);
    unfinished = found.length > 0 ? "" : whole;
    return found;
  };
}
