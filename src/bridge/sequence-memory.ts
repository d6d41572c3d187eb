/**
 * What a mailbox remembers of its last completed job: from the done file where that can be read
 * back, else from the state folder. A mailbox whose folder was made anew begins anew.
 */
import { statSync } from "node:fs";

import { fileCall, FileError } from "../base/mod.ts";
import type { NoticeLog } from "./notice-log.ts";
import type { CompletedJob, Protocol } from "./protocol.ts";
import { RecordReader } from "./record-reader.ts";
import { folderOf, isSameFolder, type FolderIdentity } from "./sequence-state.ts";
import { StateFile } from "./state-file.ts";

export type SequenceMemoryOptions = {
  readonly donePath: string;
  /** Null: nothing is kept over a restart but what the done file says. */
  readonly statePath: string | null;
  readonly protocol: Pick<Protocol, "doneBytes" | "readDone">;
  /** Begin from nothing, whatever is there. */
  readonly isForgetful: boolean;
  readonly notices: NoticeLog;
};

const FOLDER_CAUSE = "folder of done";
const STATE_CAUSE = "state";

export class SequenceMemory {
  readonly #options: SequenceMemoryOptions;
  readonly #state: StateFile | null;
  #folder: FolderIdentity | null = null;
  #last: CompletedJob | null = null;
  #generation = 0;

  constructor(options: SequenceMemoryOptions) {
    this.#options = options;
    this.#state = options.statePath === null ? null : new StateFile(options.statePath);
  }

  /**
   * Looks at the folder that holds the done file, and recalls what belongs to it where it is not
   * the one from before. False where there is none, so that no record could be answered.
   */
  refresh(): boolean {
    const { donePath, notices } = this.#options;
    const folder = folderOf(donePath);
    if (folder === null) {
      notices.tell(FOLDER_CAUSE, `the folder of ${donePath} is not there: jobs wait until it is`);
      return false;
    }
    notices.forget(FOLDER_CAUSE);
    const before = this.#folder;
    this.#folder = folder;
    if (before !== null && isSameFolder(before, folder)) return true;
    this.#generation += 1;
    this.#last = this.#options.isForgetful ? null : this.#recall(folder);
    if (before !== null) {
      const from = this.#last === null ? "anew" : `after ${String(this.#last.seq)}`;
      notices.line(`the folder of ${donePath} is another one: sequence numbers begin ${from}`);
    }
    return true;
  }

  /** Another number for each folder that was found; an answer for an older one is nobody's. */
  generation(): number {
    return this.#generation;
  }

  /** The last completed job; null where there is none. As of the last `refresh`. */
  last(): CompletedJob | null {
    return this.#last;
  }

  /** Keeps the job as the last one, on disk where there is a state folder. */
  complete(job: CompletedJob): void {
    this.#last = job;
    const { notices } = this.#options;
    if (this.#state === null || this.#folder === null) return;
    try {
      this.#state.write({ folder: this.#folder, done: job.done });
      notices.forget(STATE_CAUSE);
    } catch (error) {
      this.#tellOfState(error);
    }
  }

  #recall(folder: FolderIdentity): CompletedJob | null {
    const { statePath, protocol, notices } = this.#options;
    const written = this.#readDone();
    if (written !== null || this.#state === null) return written;
    try {
      const found = this.#state.read();
      if (found.kind === "damaged") {
        const text = `${statePath ?? ""} is damaged: the last sequence number is not known`;
        notices.line(`${text}, and a job that was answered before may run once more`);
      }
      if (found.kind !== "kept" || !isSameFolder(found.slot.folder, folder)) return null;
      return protocol.readDone(found.slot.done);
    } catch (error) {
      this.#tellOfState(error);
      return null;
    }
  }

  /** The done record that the file holds; null where it holds none, or cannot be read back. */
  #readDone(): CompletedJob | null {
    const { donePath, protocol } = this.#options;
    try {
      // Reading a device or a FIFO would take what is meant for the producer.
      const stats = fileCall("stat", donePath, () => statSync(donePath, { throwIfNoEntry: false }));
      if (stats?.isFile() !== true) return null;
    } catch (error) {
      if (error instanceof FileError) return null;
      throw error;
    }
    const look = new RecordReader(donePath, protocol.doneBytes, () => 0).look();
    return look.kind === "new" ? protocol.readDone(look.sighting.bytes) : null;
  }

  #tellOfState(error: unknown): void {
    if (!(error instanceof FileError)) throw error;
    const text = `no sequence number is kept over a restart: ${error.message}`;
    this.#options.notices.tell(STATE_CAUSE, `${text}; --state-dir names another folder`);
  }
}
