/**
 * Finds in the kernel's log what NVIDIA's driver says of a die: Xid lines of every driver since
 * R304, and the lines without an Xid by which it tells of a die that is off the bus or does not
 * start. The forms are those of the driver's published sources and of logs that people posted.
 */
import type { BoardDie, BoardEvent } from "./board.ts";
import { formatPciAddress, parsePciAddress } from "./pci-address.ts";

/** What a piece of the kernel's log says. */
export type XidSighting = {
  readonly kind: "xid" | "off_bus" | "init_failed";
  /** The Xid's number; null for the other kinds. */
  readonly xid: number | null;
  /** As the line names it, e.g. `0000:05:00`; null where it names none. */
  readonly address: string | null;
  /** `GPU-…`, where the line names the die so. */
  readonly uuid: string | null;
  /** The piece of the line, of TEXT_CHARACTERS_MAX at most. */
  readonly text: string;
};

/** Longest text of a sighting: the driver's own lines are shorter. */
export const TEXT_CHARACTERS_MAX = 300;

/** Lines that a split message may have; the driver's longest has three. */
const SPLIT_LINES_MAX = 4;

/** UUIDs that are remembered: more than a machine has dies. */
const UUIDS_MAX = 256;

/** Domain, bus and device, and perhaps a function: `0000:05:00`, `00000000:05:00.0`. */
const ADDRESS = "(?:PCI:)?([0-9a-f]{1,8}:[0-9a-f]{1,2}:[0-9a-f]{1,2})(?:\\.[0-7])?";
const UUID = "(GPU-[0-9a-f][0-9a-f-]*)";

/** `Xid (PCI:0000:05:00 GPU-I:01): 79, …`; some lines have no comma, and nothing after it. */
const XID_LINE = new RegExp(
  `\\bXid\\s*\\(\\s*(?:${ADDRESS}|${UUID})?[^()\\n]{0,80}\\)\\s*:\\s*(\\d{1,6})\\b`,
  "gi",
);
/** A message that ends before its number. */
const XID_HEAD = /\bXid(?:\s*\([^)\n]{0,120}\)?)?\s*:?\s*$/i;
/** `NVRM: GPU at PCI:0000:05:00: GPU-…`, once for each die, before its first Xid. */
const UUID_LINE = new RegExp(`GPU at ${ADDRESS}:\\s*${UUID}`, "i");
/** `NVRM: GPU 0000:05:00.0: …`, `NVRM: The NVIDIA GPU 0000:05:00.0`, `GPU at 0000:05:00.0`. */
const NAMED_DIE = new RegExp(`GPU (?:at )?${ADDRESS}`, "i");
const OFF_BUS = /fallen off the bus/i;
const INIT_FAILED = /RmInitAdapter failed|rm_init_adapter failed|probe routine failed/i;
const COUNTS_DIES = /probe routine failed for \d+ device/i;
/** Whose lines we read; nouveau and others have a language of their own. */
const OURS = /NVRM|\bXid\b/;

/**
 * Reads the log piece by piece and tells what it says of dies. A piece is one record, whose lines
 * are separated by \n; a message may also be split over several pieces. Never throws on any text.
 */
export class XidScanner {
  /** The start of a message whose end is yet to come. */
  #head: { readonly text: string; readonly lines: number } | null = null;
  /** The die that a message named whose sense is yet to come, and how many lines ago. */
  #named: { readonly address: string; lines: number } | null = null;
  /** What dies the driver calls by which UUID; it says so before their first Xid. */
  readonly #addresses = new Map<string, string>();

  push(record: string): readonly XidSighting[] {
    return record.split(/[\r\n]+/).flatMap((line) => this.#line(line));
  }

  #line(line: string): readonly XidSighting[] {
    const text = this.#join(line);
    if (text === null) return [];
    const known = UUID_LINE.exec(text);
    const xids = this.#xidsIn(text);
    if (known?.[1] !== undefined && known[2] !== undefined) this.#remember(known[2], known[1]);
    // Either is a whole message: what comes after it is not of the die that it names.
    if (known !== null || xids.length > 0) {
      this.#named = null;
      return xids;
    }
    const named = this.#nameIn(text);
    const kind = OFF_BUS.test(text) ? "off_bus" : INIT_FAILED.test(text) ? "init_failed" : null;
    if (kind === null || !OURS.test(text)) return [];
    this.#named = null;
    // How many dies did not start, and not which.
    const address = COUNTS_DIES.test(text) ? null : named;
    return [{ kind, xid: null, address, uuid: null, text: clip(text) }];
  }

  /** The line, with what came before it; null where more is to come. */
  #join(line: string): string | null {
    const head = this.#head;
    this.#head = null;
    // The prefix is on every line of a message; in the middle of one it means nothing.
    const text = head === null ? line : `${head.text} ${line.replace(/^.{0,60}?NVRM:\s*/, "")}`;
    const lines = (head?.lines ?? 0) + 1;
    if (OURS.test(text) && XID_HEAD.test(text) && lines < SPLIT_LINES_MAX) {
      this.#head = { text: clip(text), lines };
      return null;
    }
    return text;
  }

  /** The die that this line names, or that one just before it has. */
  #nameIn(text: string): string | null {
    const address = NAMED_DIE.exec(text)?.[1];
    if (address !== undefined) this.#named = { address, lines: 0 };
    else if (this.#named !== null && ++this.#named.lines >= SPLIT_LINES_MAX) this.#named = null;
    return this.#named?.address ?? null;
  }

  #xidsIn(text: string): readonly XidSighting[] {
    const found = [...text.matchAll(XID_LINE)];
    return found.map((match, at) => {
      const [, address, uuid, number] = match;
      const end = found[at + 1]?.index ?? text.length;
      return {
        kind: "xid",
        xid: Number(number),
        address: address ?? (uuid === undefined ? null : (this.#addresses.get(uuid) ?? null)),
        uuid: uuid ?? null,
        text: clip(text.slice(match.index, end)),
      };
    });
  }

  #remember(uuid: string, address: string): void {
    if (this.#addresses.size >= UUIDS_MAX) this.#addresses.clear();
    this.#addresses.set(uuid, address);
  }
}

const clip = (text: string): string => text.trim().slice(0, TEXT_CHARACTERS_MAX);

/**
 * What the sighting means for these dies. Null where it names a die that is none of them; a line
 * that names no die at all may concern any of them.
 */
export function boardEventOf(sighting: XidSighting, dies: readonly BoardDie[]): BoardEvent | null {
  const { kind, xid, text, address } = sighting;
  if (address === null) return { die: null, kind, xid, text };
  const slot = pciSlot(address);
  const found = dies.find((die) => pciSlot(die.address) === slot);
  return found === undefined ? null : { die: found.die, kind, xid, text };
}

/**
 * A PCI address in one spelling, without its function: drivers leave that out, and it is 0 for
 * every GPU. Null for what is no address.
 */
export function pciSlot(address: string): string | null {
  const parsed = parsePciAddress(address);
  return parsed === null ? null : formatPciAddress({ ...parsed, function: 0 });
}
