/**
 * Writes a payload's output whole: in place with one write(2), as device and debugfs files want it,
 * or beside the target and then renamed over it, so that nobody ever sees half of it.
 */
import {
  constants,
  fstatSync,
  ftruncateSync,
  readdirSync,
  renameSync,
  statSync,
  write,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

import {
  besideName,
  fileCall,
  FileError,
  removeQuietly,
  resolveTarget,
  takeAfter,
  toFileError,
  type Clock,
} from "../base/mod.ts";
import { closeQuietly, openHeld } from "./host-file.ts";
import type { PayloadOutput } from "./job.ts";

const writeLater = promisify(write);

/** Up to here a write is over before a thread of the pool would have begun it. */
const WRITE_NOW_BYTES_MAX = 1024 * 1024;

/** How long a consumer that answers EAGAIN, such as a full FIFO, may keep its output waiting. */
const OUTPUT_WAIT_MS_MAX = 1000;

/** Pause between two tries after EAGAIN. */
const OUTPUT_PAUSE_MS = 1;

/** Of an output where there was none. */
const NEW_FILE_MODE = 0o644;

/** An output that was opened: it is either committed, or discarded as if it had never been. */
export type OpenOutput = {
  /** Writes all of it, and shows it. Throws FileError; then it is still to be discarded. */
  readonly commit: (view: Uint8Array) => Promise<void>;
  /** Closes what is open, and removes what is half done. Harmless after `commit`. */
  readonly discard: () => void;
};

/**
 * Opens an output before anything runs, so that a job is not computed for nothing. What its path
 * held stays until `commit`.
 */
export function openOutput(
  { path, placement }: Omit<PayloadOutput, "bytes">,
  clock: Clock,
): OpenOutput {
  return placement === "in_place" ? openInPlace(path, clock) : openBeside(path, clock);
}

function openInPlace(path: string, clock: Clock): OpenOutput {
  // Without O_NONBLOCK a FIFO that nobody reads would block here for ever.
  const { file, close } = openHeld(path, constants.O_WRONLY | constants.O_NONBLOCK);
  return {
    discard: () => closeQuietly([close]),
    commit: async (view) => {
      await writeWhole({ file, path, clock }, view);
      const heldBytes = fileCall("fstat", path, () => fstatSync(file)).size;
      // Files of the kernel have no length to cut.
      if (heldBytes > view.length) {
        fileCall("ftruncate", path, () => ftruncateSync(file, view.length));
      }
      close();
    },
  };
}

type Output = { readonly file: number; readonly path: string; readonly clock: Clock };

/**
 * Writes all of `view` with one write(2). Only a plain file, which disk quotas and signals can make
 * stop halfway, is given the rest: to anything else that would be a second record.
 */
async function writeWhole(output: Output, view: Uint8Array): Promise<void> {
  const { file, path, clock } = output;
  const startMs = clock.nowMs();
  let at = 0;
  for (;;) {
    const count = await writeSome(output, view.subarray(at));
    if (count === null && clock.nowMs() - startMs < OUTPUT_WAIT_MS_MAX) {
      await clock.sleep(OUTPUT_PAUSE_MS);
      continue;
    }
    at += count ?? 0;
    if (at === view.length) return;
    // A file of debugfs calls itself regular, but what was written does not become its length.
    const status = fileCall("fstat", path, () => fstatSync(file));
    if (status.isFile() && status.size >= at) continue;
    const detail = `took ${at} of ${view.length} bytes, and a record goes in one write`;
    throw new FileError({ code: "SHORT", call: "write", path, detail });
  }
}

/** Bytes that were taken; null where none can be just now. */
async function writeSome({ file, path }: Output, view: Uint8Array): Promise<number | null> {
  try {
    if (view.length <= WRITE_NOW_BYTES_MAX) return writeSync(file, view);
    const { bytesWritten } = await writeLater(file, view, 0, view.length, null);
    return bytesWritten;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return null;
    throw toFileError("write", path, error);
  }
}

/**
 * Targets that no leftovers lie beside: this process leaves none, and only an earlier one can have.
 */
const sweptTargets = new Set<string>();

/** Beyond so many targets they are looked at anew, so that the set stays small. */
const SWEPT_TARGETS_MAX = 1024;

/** This process's own unfinished outputs, and how many it has begun. */
const liveOutputs = new Set<string>();
let outputs = 0;

function openBeside(path: string, clock: Clock): OpenOutput {
  const target = resolveTarget(path);
  const old = fileCall("stat", path, () => statSync(target, { throwIfNoEntry: false })) ?? null;
  if (old !== null && !old.isFile()) {
    const code = old.isDirectory() ? "EISDIR" : "EINVAL";
    const detail = "is no regular file, so none can take its place; write it in place";
    throw new FileError({ code, call: "rename", path, detail });
  }
  if (!sweptTargets.has(target)) sweepLeftovers(target);
  outputs += 1;
  const beside = `${unfinishedName(target)}${process.pid}-${outputs}`;
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const { file, close } = openHeld(beside, flags, NEW_FILE_MODE);
  liveOutputs.add(beside);
  return {
    commit: async (view) => {
      if (old !== null) takeAfter(file, beside, old);
      await writeWhole({ file, path: beside, clock }, view);
      close();
      fileCall("rename", path, () => renameSync(beside, target));
      liveOutputs.delete(beside);
    },
    discard: () => {
      closeQuietly([close]);
      if (liveOutputs.delete(beside)) removeQuietly(beside);
    },
  };
}

/** What the names of a target's unfinished outputs begin with, before the process and a number. */
const unfinishedName = (target: string): string => `${besideName(target, "out")}-`;

/**
 * Removes what processes that are gone have left: a die host may be killed at any moment. One that
 * is only just ending still counts as alive, so the target is then swept again by its next job.
 */
function sweepLeftovers(target: string): void {
  const prefix = basename(unfinishedName(target));
  const folder = dirname(target);
  let isClean = true;
  for (const name of namesIn(folder)) {
    if (!name.startsWith(prefix)) continue;
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    const path = join(folder, name);
    if (liveOutputs.has(path)) continue;
    // A number may be given to a process again, so one with ours need not be ours.
    if (pid === process.pid || !isAlive(pid)) removeQuietly(path);
    else isClean = false;
  }
  if (sweptTargets.size >= SWEPT_TARGETS_MAX) sweptTargets.clear();
  if (isClean) sweptTargets.add(target);
}

/** None where the folder may be written to but not listed; then leftovers stay. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
