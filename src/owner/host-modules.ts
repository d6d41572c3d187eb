/** The modules of a die: PTX files, loaded on first use and again when they have changed. */
import { createHash } from "node:crypto";
import { readFileSync, statSync, type Stats } from "node:fs";

import { err, fileCall, FileError, ok, type Result } from "../base/mod.ts";
import type { GpuContext, GpuModule } from "../gpu/mod.ts";
import { refusalCause } from "./host-failure.ts";
import type { JobCause, ModuleReference } from "./job.ts";

/** Longest PTX text that a die host reads: far above any compiler's output, far below memory. */
const PTX_BYTES_MAX = 64 * 1024 * 1024;

type LoadedModule = {
  readonly module: GpuModule;
  /** What the file looked like from outside when it was read. */
  readonly stamp: string;
  readonly sha256: string;
};

const refuse = (name: string, call: string, message: string): Result<never, JobCause> =>
  err({ name, code: 0, call, message });

/** Kept by path, so that a module that is worked on does not pile up its versions. */
export class ModuleCache {
  readonly #context: GpuContext;
  readonly #loaded = new Map<string, LoadedModule>();

  constructor(context: GpuContext) {
    this.#context = context;
  }

  /**
   * The module of that text. Where the reference names a hash, the text that is loaded is the text
   * that was hashed, whatever the file's times say.
   */
  load(reference: ModuleReference): Result<GpuModule, JobCause> {
    const { path, name, sha256 } = reference;
    const held = this.#loaded.get(path);
    if (held !== undefined && held.sha256 === sha256) return ok(held.module);
    try {
      const status = fileCall("open", path, () => statSync(path));
      if (!status.isFile()) return refuse("module_unreadable", "open", `${name} is no file`);
      if (status.size > PTX_BYTES_MAX) {
        const message = `${name}: ${status.size} bytes of PTX; at most ${PTX_BYTES_MAX}`;
        return refuse("ptx_too_large", "read", message);
      }
      const stamp = stampOf(status);
      if (held?.stamp === stamp && sha256 === undefined) return ok(held.module);
      const text = fileCall("read", path, () => readFileSync(path));
      return this.#take(reference, stamp, text);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      const missing = error.code === "ENOENT" || error.code === "ENOTDIR";
      return refuse(
        missing ? "module_not_found" : "module_unreadable",
        error.call,
        `${name}: ${error.message}`,
      );
    }
  }

  /** Unloads them all; how many there were. */
  clear(): number {
    const loaded = [...this.#loaded.values()];
    this.#loaded.clear();
    for (const { module } of loaded) module.unload();
    return loaded.length;
  }

  /** Loads a text in place of the one that its path had before. */
  #take(
    { path, name, sha256: wanted }: ModuleReference,
    stamp: string,
    text: Buffer,
  ): Result<GpuModule, JobCause> {
    const sha256 = createHash("sha256").update(text).digest("hex");
    if (wanted !== undefined && wanted !== sha256) {
      const message =
        `the text of ${name} has the SHA-256 ${sha256}, not ${wanted} as the job says; ` +
        "it was changed since it was registered";
      return refuse("module_changed", "read", message);
    }
    const module = this.#context.loadModule(text.toString("utf8"), name);
    if (!module.ok) return err(refusalCause(module.error));
    this.#loaded.get(path)?.module.unload();
    this.#loaded.set(path, { module: module.value, stamp, sha256 });
    return module;
  }
}

/** Size, time and identity: a file that another was renamed over may be as long and as old. */
const stampOf = ({ mtimeMs, size, ino, dev }: Stats): string => [mtimeMs, size, ino, dev].join(" ");
