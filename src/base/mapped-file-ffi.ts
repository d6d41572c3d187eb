/** Files as memory: mmap(2) of the C library, since Node has none. */
import { openSync, readSync } from "node:fs";
import { errnoError, FileError } from "./file-error.ts";
import { invariant } from "./invariant.ts";
import {
  lastErrno,
  loadLibrary,
  NATIVE_VIEW_BYTES_MAX,
  viewOf,
  type NativeFunctions,
} from "./native-ffi.ts";

/** sys/mman.h, the same on every Linux that we run on. */
const PROT_READ_WRITE = 0x1 | 0x2;
const MAP_SHARED = 0x01;
const MAP_FAILED = 2n ** 64n - 1n;

/** linux/falloc.h: what lies beyond the file's end does not make it longer. */
const FALLOC_FL_KEEP_SIZE = 1;

/** A page of the widest base page size; an offset must be a multiple of the machine's own. */
const OFFSET_UNIT_BYTES = 64 * 1024;

const SYMBOLS = {
  /** (void *address, size_t, int protection, int flags, int file, off_t) */
  mmap: {
    args: ["pointer", "uint64", "int32", "int32", "int32", "uint64"],
    result: "handle",
  },
  munmap: { args: ["handle", "uint64"], result: "int32" },
  getpagesize: { args: [], result: "int32" },
  /** (int file, int mode, off_t offset, off_t bytes) */
  fallocate: { args: ["int32", "int32", "uint64", "uint64"], result: "int32" },
} as const;

/** An open file, and what messages call it. */
export type NamedFile = { readonly file: number; readonly path: string };

/** A part of a file, seen in place. What is written to it is in the file at once. */
export type FileView = {
  readonly bytes: Uint8Array;
  /**
   * Whether this process has every page of a part of it at hand. The kernel takes pages away when
   * the file is cut short or holes are punched into it, also where it has grown again since; and,
   * seldom, when memory is short. Never touched, they were never there. Null: the kernel does not
   * say.
   */
  readonly isPresent: (offset: number, bytes: number) => boolean | null;
  /** Ends it; the bytes must not be touched afterwards, which would end the process. */
  readonly unmap: () => void;
};

let libc: NativeFunctions<typeof SYMBOLS> | null = null;

function libcFor(call: string, path: string): NativeFunctions<typeof SYMBOLS> {
  if (libc !== null) return libc;
  const library = loadLibrary("libc.so.6");
  const bound = library.ok ? library.value.bind(SYMBOLS) : library;
  if (!bound.ok) {
    throw new FileError({ code: "ENOSYS", call, path, detail: bound.error.message });
  }
  libc = bound.value;
  return libc;
}

/**
 * Maps `bytes` bytes of a file that is open for reading and writing, from `offset` on, a multiple
 * of 64 KiB. They must lie in the file: touching what lies beyond its end, also when it is cut
 * short later, ends the process (SIGBUS). Throws FileError.
 */
export function mapFile({ file, path }: NamedFile, offset: number, bytes: number): FileView {
  invariant(offset % OFFSET_UNIT_BYTES === 0 && offset >= 0, `a view begins at a page: ${offset}`);
  invariant(bytes >= 1 && bytes <= NATIVE_VIEW_BYTES_MAX, `a view of ${bytes} bytes`);
  const { mmap, munmap } = libcFor("mmap", path);
  const [length, start] = [BigInt(bytes), BigInt(offset)];
  const address = mmap(null, length, PROT_READ_WRITE, MAP_SHARED, file, start);
  if (address === MAP_FAILED) throw errnoError({ call: "mmap", path, errno: lastErrno() });
  let isMapped = true;
  return {
    bytes: viewOf(address, bytes),
    isPresent: (part, partBytes) => arePagesPresent(address + BigInt(part), BigInt(partBytes)),
    unmap: () => {
      invariant(isMapped, `${path} is unmapped once`);
      isMapped = false;
      if (munmap(address, length) !== 0) {
        throw errnoError({ call: "munmap", path, errno: lastErrno() });
      }
    },
  };
}

/** Bytes of an entry of /proc/self/pagemap: one u64 a page. */
const PAGE_ENTRY_BYTES = 8;

/** Bit 63 of an entry, in its last byte. */
const PAGE_PRESENT = 0x80;

let pagemap: number | null | undefined;
let pageBytes: bigint | null = null;

/** Entries that are read at once, of 64 MiB with pages of 4 KiB. */
const ENTRIES_MAX = 16 * 1024;

/**
 * Whether all pages from an address on are in this process's page tables; null: nobody can tell.
 */
function arePagesPresent(address: bigint, bytes: bigint): boolean | null {
  pagemap ??= openPagemap();
  if (pagemap === null || bytes === 0n) return pagemap === null ? null : true;
  pageBytes ??= BigInt(libcFor("getpagesize", PAGEMAP).getpagesize());
  const first = Number(address / pageBytes);
  const count = Number((address + bytes - 1n) / pageBytes) - first + 1;
  for (let done = 0; done < count; done += ENTRIES_MAX) {
    const isPresent = areEntriesPresent(pagemap, first + done, Math.min(ENTRIES_MAX, count - done));
    if (isPresent !== true) return isPresent;
  }
  return true;
}

function areEntriesPresent(file: number, first: number, count: number): boolean | null {
  const entries = Buffer.alloc(count * PAGE_ENTRY_BYTES);
  try {
    const read = readSync(file, entries, 0, entries.length, first * PAGE_ENTRY_BYTES);
    if (read !== entries.length) return null;
  } catch {
    return null;
  }
  for (let at = PAGE_ENTRY_BYTES - 1; at < entries.length; at += PAGE_ENTRY_BYTES) {
    if ((entries.readUInt8(at) & PAGE_PRESENT) === 0) return false;
  }
  return true;
}

const PAGEMAP = "/proc/self/pagemap";

/** Containers and hardened kernels may hide it. */
function openPagemap(): number | null {
  try {
    return openSync(PAGEMAP, "r");
  } catch {
    return null;
  }
}

/**
 * Gives a stretch of a file its disk or memory, where it has holes: writing to a hole through a
 * view ends the process when there is no room. Its contents and length stay. A file system that
 * cannot do this is left alone. Throws FileError, e.g. ENOSPC.
 */
export function fillHoles({ file, path }: NamedFile, offset: number, bytes: number): void {
  const { fallocate } = libcFor("fallocate", path);
  if (fallocate(file, FALLOC_FL_KEEP_SIZE, BigInt(offset), BigInt(bytes)) === 0) return;
  const error = errnoError({ call: "fallocate", path, errno: lastErrno() });
  if (error.code !== "EOPNOTSUPP" && error.code !== "ENOTSUP" && error.code !== "ENOSYS") {
    throw error;
  }
}
