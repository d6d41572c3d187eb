/** What makes a set of mailboxes one that can be served. */
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";

import { DIES_MAX } from "../owner/mod.ts";
import { RAM_HIGH_BASE } from "./guest-address.ts";
import { realPathOf } from "./real-path.ts";
import type { Mailbox } from "./mailbox.ts";

/** Mailboxes of one daemon: far above the guests of a host; a look at all costs some 3 ms. */
export const MAILBOXES_MAX = 256;

/** Longest time that a job may have: a day. Timers count milliseconds in 31 bits. */
export const TIMEOUT_MS_MAX = 24 * 60 * 60 * 1000;

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** One line that says what is wrong with the first mailbox that cannot be served, or null. */
export function findMailboxFault(mailboxes: readonly Mailbox[]): string | null {
  if (mailboxes.length === 0) return "there is no mailbox: name one with --job and --done";
  if (mailboxes.length > MAILBOXES_MAX) {
    return `${mailboxes.length} mailboxes; at most ${MAILBOXES_MAX} a daemon`;
  }
  for (const mailbox of mailboxes) {
    const fault = findFault(mailbox);
    if (fault !== null) return `${mailbox.name}: ${fault}`;
  }
  return findClash(mailboxes);
}

function findFault(mailbox: Mailbox): string | null {
  if (!NAME.test(mailbox.name)) {
    return "a mailbox's name is 1 to 64 letters, digits, `_`, `.` and `-`";
  }
  for (const { role, path } of filesOf(mailbox)) {
    if (!isAbsolute(path)) return `${role} ${path} is no absolute path`;
    if (path.includes("\0")) return `${role} holds a NUL character`;
  }
  return findDieFault(mailbox) ?? findTimeoutFault(mailbox) ?? findFolderFault(mailbox);
}

function findDieFault({ dies }: Mailbox): string | null {
  if (dies === null) return null;
  if (dies.length === 0) return "no die may run its jobs: name one, or leave dies out for all";
  const wrong = dies.find((die) => !Number.isInteger(die) || die < 0 || die >= DIES_MAX);
  if (wrong !== undefined) return `no die ${wrong}: dies are numbered 0..${DIES_MAX - 1}`;
  return new Set(dies).size === dies.length ? null : "a die is named twice";
}

function findTimeoutFault({ timeoutMs, timeoutMaxMs }: Mailbox): string | null {
  for (const [name, value] of Object.entries({ timeoutMs, timeoutMaxMs })) {
    if (Number.isInteger(value) && value >= 1 && value <= TIMEOUT_MS_MAX) continue;
    return `${name} is ${value}; 1 to ${TIMEOUT_MS_MAX} milliseconds`;
  }
  if (timeoutMs <= timeoutMaxMs) return null;
  return `the timeout, ${timeoutMs} ms, is above the longest allowed, ${timeoutMaxMs} ms`;
}

function findFolderFault(mailbox: Mailbox): string | null {
  if (mailbox.version === 1) {
    const { ramLowBytes } = mailbox;
    const isInRange = ramLowBytes > 0 && BigInt(ramLowBytes) <= RAM_HIGH_BASE;
    if (Number.isInteger(ramLowBytes) && isInRange) return null;
    return `RAM below the PCI hole is ${ramLowBytes} bytes; 1 to ${String(RAM_HIGH_BASE)}`;
  }
  const { modules } = mailbox;
  if (modules === null) return null;
  try {
    if (statSync(modules).isDirectory()) return null;
  } catch {
    return `the folder of modules ${modules} cannot be looked at: make it first`;
  }
  return `${modules} is no folder: name the one that holds the modules NAME.ptx`;
}

type NamedFile = {
  readonly role: "job" | "in" | "out" | "done" | "ram";
  readonly path: string;
};

const filesOf = (mailbox: Mailbox): readonly NamedFile[] => [
  { role: "job", path: mailbox.job },
  { role: "done", path: mailbox.done },
  ...(mailbox.version === 1
    ? [{ role: "ram", path: mailbox.ram } as const]
    : [{ role: "in", path: mailbox.in } as const, { role: "out", path: mailbox.out } as const]),
];

/** Files that several mailboxes may have in common: guests' operands, one guest's RAM. */
const SHAREABLE: ReadonlySet<string> = new Set(["in", "ram"]);

function findClash(mailboxes: readonly Mailbox[]): string | null {
  const names = new Set<string>();
  const owners = new Map<string, { readonly name: string; readonly role: string }>();
  for (const mailbox of mailboxes) {
    const { name } = mailbox;
    if (names.has(name)) return `two mailboxes are called ${name}`;
    names.add(name);
    for (const { role, path } of filesOf(mailbox)) {
      const key = realPathOf(path);
      const other = owners.get(key);
      owners.set(key, { name, role });
      if (other === undefined || (SHAREABLE.has(role) && other.role === role)) continue;
      return `${name}: its ${role} is the ${other.role} of ${other.name}: ${path}`;
    }
  }
  return null;
}
