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
   * Whether this process has its first and its last page at hand. The kernel takes them away when
   * the file is cut short, also where it has grown again since; and, seldom, when memory is short.
   * Never touched, they were never there. Null: the kernel does not say.
   */
  readonly isPresent: () => boolean | null;
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
    isPresent: () => {
      const first = isPagePresent(address);
      return first === true ? isPagePresent(address + length - 1n) : first;
    },
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

/** Whether the page of an address is in this process's page tables; null: it cannot be told. */
function isPagePresent(address: bigint): boolean | null {
  pagemap ??= openPagemap();
  if (pagemap === null) return null;
  pageBytes ??= BigInt(libcFor("getpagesize", PAGEMAP).getpagesize());
  const page = address / pageBytes;
  const entry = Buffer.alloc(PAGE_ENTRY_BYTES);
  const position = Number(page) * PAGE_ENTRY_BYTES;
  if (readSync(pagemap, entry, 0, PAGE_ENTRY_BYTES, position) !== PAGE_ENTRY_BYTES) return null;
  return (entry.readUInt8(PAGE_ENTRY_BYTES - 1) & PAGE_PRESENT) !== 0;
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
  if (fallocate(file, 0, BigInt(offset), BigInt(bytes)) === 0) return;
  const error = errnoError({ call: "fallocate", path, errno: lastErrno() });
  if (error.code !== "EOPNOTSUPP" && error.code !== "ENOTSUP" && error.code !== "ENOSYS") {
    throw error;
  }
}
