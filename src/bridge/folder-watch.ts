/**
 * Ends a rest as soon as a job file is put in place, instead of with the next poll. A help, never
 * relied on: kernels' files cause no events, and a folder may go away under its watch. What it
 * costs has a bound, however much is written in the folder.
 */
import { watch, type FSWatcher } from "node:fs";
import { basename, dirname } from "node:path";

/** Events of other files in the folder that are put up with before the watch is closed. */
export const OTHER_EVENTS_MAX = 8;

/** Least time from the end of one watch to the next. */
export const REARM_MS = 100;

/** A watch is opened anew after this long: its folder may have been replaced. */
export const RENEW_MS = 5000;

export class FolderWatch {
  readonly #folder: string;
  readonly #fileName: string;
  readonly #nowMs: () => number;
  readonly #onPosted: () => void;
  #watcher: FSWatcher | null = null;
  #openedMs = -Infinity;
  #closedMs = -Infinity;
  #otherEvents = 0;

  /** `onPosted` is called once at most for each time that the watch was armed. */
  constructor(path: string, nowMs: () => number, onPosted: () => void) {
    this.#folder = dirname(path);
    this.#fileName = basename(path);
    this.#nowMs = nowMs;
    this.#onPosted = onPosted;
  }

  /** Arms the watch where it is time to; to be called at each rest. */
  arm(): void {
    const nowMs = this.#nowMs();
    if (this.#watcher !== null) {
      if (nowMs - this.#openedMs < RENEW_MS) return;
      this.close();
    } else if (nowMs - this.#closedMs < REARM_MS) return;
    try {
      const watcher = watch(this.#folder, { persistent: false }, (_, fileName) => {
        if (watcher === this.#watcher) this.#take(fileName);
      });
      watcher.on("error", () => this.close());
      this.#watcher = watcher;
      this.#openedMs = nowMs;
      this.#otherEvents = 0;
    } catch {
      // No such folder, or no watches left: polling does without.
      this.#closedMs = nowMs;
    }
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
    this.#closedMs = this.#nowMs();
  }

  #take(fileName: string | null): void {
    if (fileName === this.#fileName) {
      this.close();
      this.#onPosted();
      return;
    }
    this.#otherEvents += 1;
    if (this.#otherEvents > OTHER_EVENTS_MAX) this.close();
  }
}
