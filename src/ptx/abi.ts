/**
 * The contract between compiled kernels (codegen) and what runs them (gpu-soft): numbers and
 * layouts only. Device memory is one WebAssembly.Memory, shared between all workers of a device;
 * every address is a byte offset into it, so a generic, a shared and a local address are the same
 * number.
 *
 * A kernel module imports `holdfast.memory` (shared, at least 1 and at most 65536 pages) and
 * exports
 *
 *   run(launch: i32, scratch: i32, firstBlock: i32, endBlock: i32) -> ()
 *
 * which runs the blocks [firstBlock, endBlock), by linear index (x fastest), one after the other.
 * `launch` is the address of a launch descriptor, the same for all workers and only read; `scratch`
 * is the address of this worker's own scratch area. Both are aligned to 64. A fault fills the fault
 * record at the start of the scratch area and traps (`unreachable`); the memory stays as it is.
 */

/** Byte offsets of the u32 words of the launch descriptor. */
export const LAUNCH = {
  gridX: 0,
  gridY: 4,
  gridZ: 8,
  blockX: 12,
  blockY: 16,
  blockZ: 20,
  /** blockX * blockY * blockZ. */
  threads: 24,
  /** Static (aligned to 16) plus dynamic shared memory of one block. */
  sharedBytes: 28,
  dynamicSharedBytes: 32,
  /** Address of the parameter block, aligned to 16. */
  parameters: 36,
  /** Address of the module's data segment (`.global`, `.const`), aligned to 256. */
  moduleData: 40,
  /** Address of the granule table. */
  granules: 44,
  /** Offsets, from the start of a scratch area, of the parts that are sized at launch. */
  sharedOffset: 48,
  localOffset: 52,
} as const;

/** Bytes of a launch descriptor. */
export const LAUNCH_BYTES = 64;

/**
 * Device memory is handed out in granules. The granule table holds one byte for each: how many
 * bytes of it, from its start, belong to a live allocation (0 to 128). An allocation begins at a
 * granule, so one load and one compare check an aligned access exactly: `(address & 127) + size <=
 * valid`. The table covers the whole memory, one byte for each of its `buffer.byteLength / 128`
 * granules, so that compiled code bounds its index by the memory's size; what is not allocated has
 * 0.
 */
export const GRANULE_BYTES = 128;

/** Byte offsets of the fault record, at the start of each scratch area. */
export const FAULT = {
  /** u32, one of FAULT_CODE; 0 while there is none. The runtime clears it before a launch. */
  code: 0,
  /** u32: the PTX line of the instruction. */
  line: 4,
  /** u64: the address that was accessed. */
  address: 8,
  /** u32: linear index of the thread in its block, and of the block in the grid. */
  thread: 16,
  block: 20,
  /** u32: bytes of the access. */
  bytes: 24,
  /** u32: PTX column. */
  column: 28,
} as const;

export const FAULT_BYTES = 64;

/** What a kernel can do wrong, with CUDA's own numbers (cuda.h, CUresult). */
export const FAULT_CODE = {
  illegalAddress: 700,
  illegalInstruction: 715,
  misalignedAddress: 716,
} as const;

/** Threads of one block: CUDA's own limit, which sizes the context area. */
export const THREADS_PER_BLOCK_MAX = 1024;

/** Shared memory of one block that a launch may ask for; an H200 offers 227 KiB. */
export const SHARED_BYTES_PER_BLOCK_MAX = 227 * 1024;
