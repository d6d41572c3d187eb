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

type LockedView = {
  readonly view: FileView;
  /** Null: it could not be page-locked. */
  readonly buffer: HostBuffer | null;
  /** Its pages were put in place by locking them, so that they stay until the file drops them. */
  readonly isHeld: boolean;
};

type MappedFile = {
  readonly path: string;
  readonly file: number;
  readonly close: () => void;
  readonly status: Pick<Stats, "dev" | "ino">;
  readonly heldBytes: number;
  /** Blocks that the file had when it was last looked at. */
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
   * The pieces of a range that is read. Throws FileError where the file is missing, is no plain
   * file, or does not hold the range.
   */
  source(path: string, offset: number, bytes: number): readonly HostPiece[] {
    return this.#pieces(this.#fileOf(path), offset, bytes);
  }

  /** The pieces of a range that is written; its holes are filled first. */
  target(path: string, offset: number, bytes: number): readonly HostPiece[] {
    const mapped = this.#fileOf(path);
    const pieces = this.#pieces(mapped, offset, bytes);
    fillStretches(mapped, offset, bytes);
    return pieces;
  }

  /**
   * To be called before each job, while nothing is copying from or to any of them: lets go of files
   * that are no longer what was mapped, gone, replaced, or of another size: a file that was cut
   * short must not be touched beyond its end. And of those whose locked pages are not their own
   * any more, since they were cut short and have grown again, or holes were punched into them:
   * the device would go on with pages that nobody else sees.
   */
  sweep(): void {
    for (const mapped of this.#files.values()) {
      const now = statusOf(mapped.path);
      const isTooMany = this.#files.size > MAPPED_FILES_MAX;
      if (
        isTooMany ||
        now === undefined ||
        !isUnchanged(now, mapped) ||
        hasLostPages(now, mapped)
      ) {
        this.#drop(mapped);
      } else {
        mapped.heldBlocks = now.blocks;
      }
    }
  }

  #fileOf(path: string): MappedFile {
    const mapped = this.#files.get(path) ?? openFile(path);
    // The latest comes last, so that the sweep meets the oldest first.
    this.#files.delete(path);
    this.#files.set(path, mapped);
    return mapped;
  }

  #pieces(mapped: MappedFile, offset: number, bytes: number): readonly HostPiece[] {
    const { path, heldBytes } = mapped;
    if (!(Number.isSafeInteger(offset) && offset >= 0 && offset + bytes <= heldBytes)) {
      const detail = `holds ${heldBytes} bytes; ${bytes} at ${offset} do not lie in it`;
      throw new FileError({ code: "SHORT", call: "mmap", path, detail });
    }
    return splitAtViews(offset, bytes).map(({ view, at, count }) => {
      const { view: mapping, buffer } = this.#viewOf(mapped, view);
      const pinned = buffer === null ? null : { buffer, offset: at };
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
    const buffer = this.#options.adopt(view.bytes);
    const isNews = ![...mapped.views.values()].some((other) => other.buffer === null);
    if (!buffer.ok && isNews) {
      const { path } = mapped;
      this.#options.note(`${path} is copied in two steps, since ${buffer.error.message}`);
    }
    const isHeld = buffer.ok && view.isPresent() === true;
    const locked = { view, buffer: buffer.ok ? buffer.value : null, isHeld };
    mapped.views.set(index, locked);
    mapped.heldBlocks = fileCall("fstat", mapped.path, () => fstatSync(mapped.file)).blocks;
    return locked;
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

function hasLostPages(now: Stats, { views, heldBlocks }: MappedFile): boolean {
  const held = [...views.values()].filter(({ isHeld }) => isHeld);
  if (held.length === 0) return false;
  return now.blocks < heldBlocks || held.some(({ view }) => view.isPresent() === false);
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

function release({ view, buffer }: LockedView): void {
  buffer?.free();
  view.unmap();
}

function fillStretches(mapped: MappedFile, offset: number, bytes: number): void {
  const last = Math.floor((offset + bytes - 1) / STRETCH_BYTES);
  for (let stretch = Math.floor(offset / STRETCH_BYTES); stretch <= last; stretch++) {
    if (mapped.filled.has(stretch)) continue;
    const start = stretch * STRETCH_BYTES;
    fillHoles(mapped, start, Math.min(STRETCH_BYTES, mapped.heldBytes - start));
    mapped.filled.add(stretch);
  }
}
