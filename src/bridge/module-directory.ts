/**
 * The folder of modules that op 256 may launch: files `NAME.ptx`, found by the SHA-256 of their
 * text. A file is read once; what it is now is told from its identity.
 */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { createMutex, fileCall, FileError, type Clock } from "../base/mod.ts";
import type { ModuleReference } from "../owner/mod.ts";
import { identityOf, isUntouched, type FileIdentity } from "./file-identity.ts";
import type { NoticeLog } from "./notice-log.ts";

/** Files that are looked at; a folder with more of them is not one of modules. */
const MODULES_MAX = 4096;

/** Longest file that is read: as long as a die host takes. */
const MODULE_BYTES_MAX = 64 * 1024 * 1024;

/** Least time between two looks at the whole folder, so that wrong hashes cost little. */
export const RESCAN_MS_MIN = 100;

type KnownModule = { readonly identity: FileIdentity; readonly sha256: string };

export type ModuleDirectoryOptions = {
  readonly folder: string;
  readonly clock: Clock;
  readonly notices: NoticeLog;
};

export class ModuleDirectory {
  readonly folder: string;
  readonly #clock: Clock;
  readonly #notices: NoticeLog;
  /** By file name. */
  #known: ReadonlyMap<string, KnownModule> = new Map();
  #scanMs = -Infinity;
  readonly #lock = createMutex();

  constructor({ folder, clock, notices }: ModuleDirectoryOptions) {
    this.folder = folder;
    this.#clock = clock;
    this.#notices = notices;
  }

  /** The module of that SHA-256 (lower-case hex), or null where no file has it now. */
  async find(sha256: string): Promise<ModuleReference | null> {
    const known = this.#lookUp(sha256);
    if (known !== null) return known;
    return this.#lock.run(async () => {
      // Whoever came before may have found it.
      const found = this.#lookUp(sha256);
      if (found !== null) return found;
      await this.#scanFolder();
      return this.#lookUp(sha256);
    });
  }

  #lookUp(sha256: string): ModuleReference | null {
    for (const [name, known] of this.#known) {
      if (known.sha256 !== sha256) continue;
      const path = join(this.folder, name);
      const now = identityNow(path);
      if (now !== null && isUntouched(now, known.identity)) return { name, path, sha256 };
    }
    return null;
  }

  async #scanFolder(): Promise<void> {
    const waitMs = this.#scanMs + RESCAN_MS_MIN - this.#clock.nowMs();
    if (waitMs > 0) await this.#clock.sleep(waitMs);
    this.#scanMs = this.#clock.nowMs();
    const names = await this.#names();
    const known = new Map<string, KnownModule>();
    for (const name of names) {
      const module = await this.#read(name);
      if (module !== null) known.set(name, module);
    }
    this.#known = known;
  }

  async #names(): Promise<readonly string[]> {
    try {
      const all = await readdir(this.folder);
      const names = all.filter((name) => name.endsWith(".ptx")).sort();
      if (names.length > MODULES_MAX) {
        const text = `${this.folder}: only the first ${MODULES_MAX} modules of it are known`;
        this.#notices.tell("modules: too many", text);
      }
      return names.slice(0, MODULES_MAX);
    } catch (error) {
      const text = `${this.folder} cannot be read: ${error instanceof Error ? error.message : ""}`;
      this.#notices.tell("modules: folder", text);
      return [];
    }
  }

  /** What the file is; null where it is no module. */
  async #read(name: string): Promise<KnownModule | null> {
    const path = join(this.folder, name);
    const identity = identityNow(path);
    if (identity === null) return null;
    const known = this.#known.get(name);
    if (known !== undefined && isUntouched(known.identity, identity)) return known;
    if (identity.size > MODULE_BYTES_MAX) {
      const text = `${path} has ${identity.size} bytes; a module has at most ${MODULE_BYTES_MAX}`;
      this.#notices.tell(`modules: ${name}`, text);
      return null;
    }
    try {
      const text = await readFile(path);
      return { identity, sha256: createHash("sha256").update(text).digest("hex") };
    } catch (error) {
      const reason = error instanceof Error ? error.message : "";
      this.#notices.tell(`modules: ${name}`, `${path} cannot be read: ${reason}`);
      return null;
    }
  }
}

/** Null where there is no plain file of that name. */
function identityNow(path: string): FileIdentity | null {
  try {
    const stats = fileCall("stat", path, () => statSync(path, { throwIfNoEntry: false }));
    return stats?.isFile() === true ? identityOf(stats) : null;
  } catch (error) {
    if (error instanceof FileError) return null;
    throw error;
  }
}
