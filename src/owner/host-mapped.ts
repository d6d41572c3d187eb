/**
 * Files that are memory, such as a guest's RAM, seen in place: each is mapped and page-locked once,
 * in views, and kept, so that copies go straight between it and the device.
 */
import { constants, fstatSync, statSync, type Stats } from "node:fs";

import {
  fileCall,
  FileError,
  fillHoles,
  mapFile,
  NATIVE_VIEW_BYTES_MAX,
  type FileView,
} from "../base/mod.ts";
import type { GpuContext, HostBuffer } from "../gpu/mod.ts";
import { closeQuietly, openHeld } from "./host-file.ts";
import { splitAtViews, type HostPiece } from "./host-memory.ts";

/** Files that one die keeps mapped between jobs, of as many guests; the latest are kept. */
const MAPPED_FILES_MAX = 64;

/** Holes are filled by stretches of this size: that of a huge page. */
const STRETCH_BYTES = 2 * 1024 * 1024;

/** A part of a file that a job reads or writes. */
export type MemoryRange = {
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
};

/**
 * A view is mapped twice: once for the processor, which checks and stages, and once for the device.
 * Nothing but the locking puts pages into the second, so that its page table goes on telling
 * whether the locked pages are still the file's.
 */
type LockedView = {
  readonly view: FileView;
  /** Null: it could not be page-locked. */
  readonly locked: { readonly view: FileView; readonly buffer: HostBuffer } | null;
  /** Its pages were put in place by locking them, so that they stay until the file drops them. */
  readonly isHeld: boolean;
};

type MappedFile = {
  readonly path: string;
  readonly file: number;
  readonly close: () => void;
  readonly status: Pick<Stats, "dev" | "ino">;
  readonly heldBytes: number;
  /** Blocks that the file had when it was last looked at: fewer, and it has holes again. */
  heldBlocks: number;
  readonly views: Map<number, LockedView>;
  /** Stretches that have no holes any more. */
  readonly filled: Set<number>;
};

export type MappedFilesOptions = {
  readonly adopt: GpuContext["adoptHost"];
  /** Takes one line about a file whose copies are slower than they could be. */
  readonly note: (line: string) => void;
};

export class MappedFiles {
  readonly #options: MappedFilesOptions;
  readonly #files = new Map<string, MappedFile>();

  constructor(options: MappedFilesOptions) {
    this.#options = options;
  }

  /**
   * To be called before each job, while nothing is copying from or to any of them: lets go of files
   * that are no longer what was mapped, gone, replaced, or of another size: a file that was cut
   * short must not be touched beyond its end. And of those that the job `uses` where locked pages
   * are not the file's own any more, since it was cut short and has grown again, or holes were
   * punched into it: the device would go on with pages that nobody else sees.
   */
  sweep(uses: readonly MemoryRange[]): void {
    for (const mapped of this.#files.values()) {
      const now = statusOf(mapped.path);
      const isTooMany = this.#files.size > MAPPED_FILES_MAX;
      if (isTooMany || now === undefined || !isUnchanged(now, mapped)) {
        this.#drop(mapped);
        continue;
      }
      if (now.blocks < mapped.heldBlocks) mapped.filled.clear();
      mapped.heldBlocks = now.blocks;
    }
    for (const { path, offset, bytes } of uses) {
      const mapped = this.#files.get(path);
      if (mapped !== undefined && hasLostPages(mapped, offset, bytes)) this.#drop(mapped);
    }
  }

  /** Lets go of all files. Nothing may be copying from or to any of them. */
  clear(): void {
    for (const mapped of this.#files.values()) this.#drop(mapped);
  }

  #fileOf(path: string): MappedFile {
    const mapped = this.#files.get(path) ?? openFile(path);
    // The latest comes last, so that the sweep meets the oldest first.
    this.#files.delete(path);
    this.#files.set(path, mapped);
    return mapped;
  }

  /**
   * The pieces of a range, to be read or written. Throws FileError where the file is missing, is no
   * plain file, does not hold the range, or where there is no room for its holes.
   */
  pieces(path: string, offset: number, bytes: number): readonly HostPiece[] {
    const mapped = this.#fileOf(path);
    const { heldBytes } = mapped;
    if (!(Number.isSafeInteger(offset) && offset >= 0 && offset + bytes <= heldBytes)) {
      const detail = `holds ${heldBytes} bytes; ${bytes} at ${offset} do not lie in it`;
      throw new FileError({ code: "SHORT", call: "mmap", path, detail });
    }
    fillStretches(mapped, offset, bytes);
    return splitAtViews(offset, bytes).map(({ view, at, count }) => {
      const { view: mapping, locked } = this.#viewOf(mapped, view);
      const pinned = locked === null ? null : { buffer: locked.buffer, offset: at };
      return { bytes: mapping.bytes.subarray(at, at + count), pinned };
    });
  }

  /** The view of that number, mapped on first touch. */
  #viewOf(mapped: MappedFile, index: number): LockedView {
    const held = mapped.views.get(index);
    if (held !== undefined) return held;
    const start = index * NATIVE_VIEW_BYTES_MAX;
    const bytes = Math.min(NATIVE_VIEW_BYTES_MAX, mapped.heldBytes - start);
    const view = mapFile(mapped, start, bytes);
    const locked = this.#lock(mapped, start, bytes);
    const isHeld = locked?.view.isPresent(0, bytes) === true;
    const made = { view, locked, isHeld };
    mapped.views.set(index, made);
    return made;
  }

  #lock(mapped: MappedFile, start: number, bytes: number): LockedView["locked"] {
    const view = mapFile(mapped, start, bytes);
    const buffer = this.#options.adopt(view.bytes);
    if (buffer.ok) return { view, buffer: buffer.value };
    view.unmap();
    const isNews = ![...mapped.views.values()].some((other) => other.locked === null);
    const { path } = mapped;
    if (isNews) this.#options.note(`${path} is copied in two steps, since ${buffer.error.message}`);
    return null;
  }

  #drop(mapped: MappedFile): void {
    this.#files.delete(mapped.path);
    for (const view of mapped.views.values()) release(view);
    closeQuietly([mapped.close]);
  }
}

/** Undefined where the path leads nowhere, or nobody can say where. */
function statusOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

const isUnchanged = (now: Stats, { status, heldBytes }: MappedFile): boolean =>
  now.dev === status.dev && now.ino === status.ino && now.size === heldBytes;

/** Whether a page of the range was locked once and is not the file's any more. */
function hasLostPages({ views }: MappedFile, offset: number, bytes: number): boolean {
  return splitAtViews(offset, bytes).some(({ view, at, count }) => {
    const { locked, isHeld } = views.get(view) ?? {};
    return isHeld === true && locked?.view.isPresent(at, count) === false;
  });
}

function openFile(path: string): MappedFile {
  // O_NONBLOCK: a FIFO is to be refused, not waited for.
  const flags = constants.O_RDWR | constants.O_NONBLOCK;
  const { file, close } = openHeld(path, flags);
  try {
    const status = fileCall("fstat", path, () => fstatSync(file));
    if (!status.isFile()) {
      const detail = "is no regular file, so it cannot be memory";
      throw new FileError({ code: "ENODEV", call: "mmap", path, detail });
    }
    const { dev, ino, size, blocks } = status;
    const [views, filled] = [new Map<number, LockedView>(), new Set<number>()];
    return {
      path,
      file,
      close,
      status: { dev, ino },
      heldBytes: size,
      heldBlocks: blocks,
      views,
      filled,
    };
  } catch (error) {
    closeQuietly([close]);
    throw error;
  }
}

function release({ view, locked }: LockedView): void {
  locked?.buffer.free();
  locked?.view.unmap();
  view.unmap();
}

/**
 * Gives holes their memory: on tmpfs even a read of one needs room, and dies where there is none.
 */
function fillStretches(mapped: MappedFile, offset: number, bytes: number): void {
  const last = Math.floor((offset + bytes - 1) / STRETCH_BYTES);
  for (let stretch = Math.floor(offset / STRETCH_BYTES); stretch <= last; stretch++) {
    if (mapped.filled.has(stretch)) continue;
    const start = stretch * STRETCH_BYTES;
    fillHoles(mapped, start, Math.min(STRETCH_BYTES, mapped.heldBytes - start));
    mapped.filled.add(stretch);
  }
}
