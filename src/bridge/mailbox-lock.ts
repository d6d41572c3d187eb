/**
 * Who serves a mailbox: a file with the process's number and start time, so that two daemons never
 * serve one. A daemon that was killed leaves its file, and the next one sees that it is gone.
 */
import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from "node:fs";

import { err, fileCall, FileError, ok, type Result } from "../base/mod.ts";

export type MailboxLock = { readonly release: () => void };

export type LockFailure =
  | { readonly code: "taken"; readonly pid: number }
  /** No lock can be had there; the message says why. */
  | { readonly code: "unavailable"; readonly message: string };

/** How often a lock is tried for again after others came between; each time somebody got it. */
const TRIES_MAX = 8;

/** Takes the lock at `path`, in a folder that exists. */
export function takeMailboxLock(path: string): Result<MailboxLock, LockFailure> {
  const own = ownText();
  const beside = `${path}.${String(process.pid)}`;
  try {
    fileCall("write", beside, () => writeFileSync(beside, own, { mode: 0o600 }));
    try {
      return takeByLink(path, beside, own);
    } finally {
      unlinkSync(beside);
    }
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return err({ code: "unavailable", message: error.message });
  }
}

/** A link is made whole or not at all, and only where there was nothing. */
function takeByLink(path: string, beside: string, own: string): Result<MailboxLock, LockFailure> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (link(beside, path)) return ok({ release: () => release(path, own) });
    const found = readQuietly(path);
    if (found === null) continue;
    const holder = holderOf(found);
    if (holder !== null) return err({ code: "taken", pid: holder });
    putAside(path, found);
  }
  return err({ code: "unavailable", message: `${path} is taken and given back all the time` });
}

/** False where there is a file of that name already. Throws FileError. */
function link(from: string, to: string): boolean {
  try {
    fileCall("link", to, () => linkSync(from, to));
    return true;
  } catch (error) {
    if (error instanceof FileError && error.code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes a lock whose holder is gone. Another daemon may do the same and take the lock before us;
 * it is then theirs that was moved, and is put back.
 */
function putAside(path: string, stale: string): void {
  const aside = `${path}.${String(process.pid)}.stale`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (readQuietly(aside) !== stale) link(aside, path);
  unlinkSync(aside);
}

function release(path: string, own: string): void {
  if (readQuietly(path) !== own) return;
  try {
    unlinkSync(path);
  } catch {
    // The folder is gone, and the lock with it; else the next daemon sees that we are gone.
  }
}

function readQuietly(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

const ownText = (): string => `${String(process.pid)} ${startTimeOf(process.pid) ?? "0"}\n`;

/** The process that holds a lock of this text; null where it is gone or the text is none. */
function holderOf(text: string): number | null {
  const [, pid = "", startTime] = /^([1-9]\d{0,9}) (\d+)\n$/.exec(text) ?? [];
  if (startTime === undefined) return null;
  return startTimeOf(Number(pid)) === startTime ? Number(pid) : null;
}

/** Places of the fields after the program's name in /proc/PID/stat (proc(5), fields 3 and 22). */
const STATE_FIELD = 0;
const START_TIME_FIELD = 19;

/**
 * When the process was started, in ticks since boot: with the number, a name that no other process
 * has. Null where there is none; one that has ended and was not waited for is none.
 */
function startTimeOf(pid: number): string | null {
  const text = readQuietly(`/proc/${String(pid)}/stat`);
  if (text === null) return null;
  // The name may hold spaces and brackets of its own.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const state = fields[STATE_FIELD] ?? "X";
  return "ZX".includes(state) ? null : (fields[START_TIME_FIELD] ?? null);
}
