/**
 * The bar_swap device over ioctl(2) and mmap(2). For a process of its own: each call can take as
 * long as the hardware does, and touching BAR1 after somebody else released it is SIGBUS.
 */
import { constants as fsConstants, openSync } from "node:fs";
import { constants } from "node:os";
import {
  errnoError,
  fileCall,
  FileError,
  lastErrno,
  loadLibrary,
  viewOf,
  type NativeFunctions,
} from "../base/mod.ts";
import {
  BAR_SWAP_REQUEST,
  decodeAcquire,
  decodeDie,
  decodeQuery,
  newStructure,
  type BAR_SWAP_LAYOUT,
} from "./bar-swap-abi.ts";
import { SLOT_READ_BYTES_MAX } from "./step-protocol.ts";
import type { SlotDevice } from "./step-server.ts";

/** sys/mman.h. */
const PROT_READ = 1;
const MAP_SHARED = 1;
/** `(void *)-1`. */
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;

/** A multiple of the page size of every machine: mmap begins at a page. */
const OFFSET_UNIT_BYTES = 64 * 1024;

const SYMBOLS = {
  /** (int file, unsigned long request, ...): one pointer, passed as if it were declared. */
  ioctl: { args: ["int32", "uint64", "pointer"], result: "int32" },
  /** (void *address, size_t bytes, int protection, int flags, int file, off_t offset) */
  mmap: {
    args: ["pointer", "uint64", "int32", "int32", "int32", "uint64"],
    result: "handle",
  },
  munmap: { args: ["handle", "uint64"], result: "int32" },
} as const;

type Libc = NativeFunctions<typeof SYMBOLS>;
type RequestName = keyof typeof BAR_SWAP_REQUEST;

/** What errno means for a call, as the header has it. */
const MEANING: Readonly<Record<string, string>> = {
  EIO: "the die does not answer on the bus",
  EBUSY: "another die is in the slot",
  EINVAL: "no such die, or it is not in the slot",
  ENOTTY: "the device is not a bar_swap device",
  ENODEV: "no die is in the slot",
};

function libcFor(path: string): Libc {
  const library = loadLibrary("libc.so.6");
  const bound = library.ok ? library.value.bind(SYMBOLS) : library;
  if (bound.ok) return bound.value;
  throw new FileError({ code: "ENOSYS", call: "ioctl", path, detail: bound.error.message });
}

/** Opens the device. Throws FileError, as its calls do. */
export function openBarSwap(path: string): SlotDevice {
  const libc = libcFor(path);
  const file = fileCall("open", path, () => openSync(path, fsConstants.O_RDWR));
  const call = (
    name: RequestName,
    structure: keyof typeof BAR_SWAP_LAYOUT,
    die: number | null,
  ): DataView => {
    const view = newStructure(structure, die);
    const result = libc.ioctl(file, BigInt(BAR_SWAP_REQUEST[name]), view);
    if (result < 0) throw callError(name, path, lastErrno());
    return view;
  };
  return {
    query: () => decodeQuery(call("HF_BAR_SWAP_QUERY", "hf_bar_swap_query", null)),
    die: (die) => decodeDie(call("HF_BAR_SWAP_DIE", "hf_bar_swap_die", die)),
    acquire: (die) => decodeAcquire(call("HF_BAR_SWAP_ACQUIRE", "hf_bar_swap_acquire", die)),
    release: (die) => void call("HF_BAR_SWAP_RELEASE", "hf_bar_swap_release", die),
    read: (offset, bytes) => readMapped(libc, { file, path }, offset, bytes),
  };
}

function callError(call: string, path: string, errno: number): FileError {
  const error = errnoError({ call, path, errno });
  const meaning = MEANING[error.code];
  if (meaning === undefined) return error;
  const detail = `${error.code} (errno ${String(errno)}): ${meaning}`;
  return new FileError({ code: error.code, call, path, detail });
}

function readMapped(
  libc: Libc,
  { file, path }: { readonly file: number; readonly path: string },
  offset: number,
  bytes: number,
): Uint8Array {
  if (!(bytes >= 1 && bytes <= SLOT_READ_BYTES_MAX && offset >= 0)) {
    throw callError("mmap", path, constants.errno.EINVAL);
  }
  const before = offset % OFFSET_UNIT_BYTES;
  const length = BigInt(before + bytes);
  const start = BigInt(offset - before);
  const address = libc.mmap(null, length, PROT_READ, MAP_SHARED, file, start);
  if (address === MAP_FAILED) throw callError("mmap", path, lastErrno());
  try {
    return Uint8Array.from(viewOf(address, before + bytes).subarray(before));
  } finally {
    if (libc.munmap(address, length) !== 0) throw callError("munmap", path, lastErrno());
  }
}
