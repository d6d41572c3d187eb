/**
 * Where things lie in a context's linear memory, which is 32-bit: one address space of 4 GiB.
 *
 *   0          nothing that a kernel may touch, so that null and near-null pointers fault;
 *              the launch descriptor and the parameter block lie in it
 *   64 KiB     the granule table, one byte for each of the 2^25 granules
 *   32.06 MiB  the heap: allocations, module data, scratch areas of workers
 *   4 GiB - 64 KiB  the end; the last page is left out, so that address + size never wraps
 *
 * Pages are given memory by the operating system when they are first written to.
 */
import { GRANULE_BYTES } from "../ptx/mod.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

/** A page of WebAssembly memory. */
export const PAGE_BYTES = 64 * KIB;

export const ADDRESS_SPACE_BYTES = 4 * GIB;

export const LAUNCH_ADDRESS = 1 * KIB;

export const PARAMETERS_ADDRESS = 2 * KIB;

/** CUDA's own limit for a parameter block, since CUDA 12.1. */
export const PARAMETER_BYTES_MAX = 32_764;

export const GRANULES_ADDRESS = PAGE_BYTES;

export const GRANULES_BYTES = ADDRESS_SPACE_BYTES / GRANULE_BYTES;

export const HEAP_START = GRANULES_ADDRESS + GRANULES_BYTES;

export const HEAP_END = ADDRESS_SPACE_BYTES - PAGE_BYTES;

/** Memory that a device has unless told otherwise: half of the address space, the rest is scratch. */
export const MEMORY_BYTES_DEFAULT = 2 * GIB;

/** The most that a device can have: the heap, less room for the scratch areas of its workers. */
export const MEMORY_BYTES_MAX = 3.5 * GIB;
