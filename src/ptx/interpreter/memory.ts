import { GRANULE_BYTES } from "../abi.ts";

/**
 * Device memory, as the interpreter sees it. Addresses are absolute; values are little-endian bit
 * patterns of 1 to 8 bytes. `read` and `write` are called only where `isAllocated` said yes.
 */
export type InterpreterMemory = {
  readonly isAllocated: (address: bigint, bytes: number) => boolean;
  readonly read: (address: bigint, bytes: number) => bigint;
  readonly write: (address: bigint, bytes: number, bits: bigint) => void;
};

/** Reads a little-endian bit pattern. */
export function readBits(bytes: Uint8Array, offset: number, count: number): bigint {
  let bits = 0n;
  for (let index = count - 1; index >= 0; index -= 1) {
    bits = (bits << 8n) | BigInt(bytes[offset + index] ?? 0);
  }
  return bits;
}

/** Writes a little-endian bit pattern. */
export function writeBits(bytes: Uint8Array, offset: number, count: number, bits: bigint): void {
  for (let index = 0; index < count; index += 1) {
    bytes[offset + index] = Number((bits >> BigInt(8 * index)) & 0xffn);
  }
}

/** Memory of separate allocations, each with an address of its own. */
export type PlainMemory = InterpreterMemory & {
  /** Adds a copy of `bytes`, at the address given back. */
  readonly allocate: (bytes: Uint8Array) => bigint;
  /** The bytes of an allocation, by its address, as they are now. */
  readonly bytesAt: (address: bigint) => Uint8Array;
};

type Allocation = { readonly address: bigint; readonly bytes: Uint8Array };

/** Where plain memory begins: not at zero, so that a null pointer points to nothing. */
const FIRST_ADDRESS = 0x10000n;

/** A memory that grows by allocations, which never touch, so that running over an end is seen. */
export function createPlainMemory(): PlainMemory {
  const allocations: Allocation[] = [];
  let next = FIRST_ADDRESS;
  const find = (address: bigint, bytes: number): Allocation | undefined =>
    allocations.find(
      (one) =>
        address >= one.address && address + BigInt(bytes) <= one.address + BigInt(one.bytes.length),
    );
  const place = (address: bigint, bytes: number): [Uint8Array, number] => {
    const allocation = find(address, bytes);
    if (allocation === undefined)
      throw new RangeError(`0x${address.toString(16)} is not allocated`);
    return [allocation.bytes, Number(address - allocation.address)];
  };
  return {
    isAllocated: (address, bytes) => find(address, bytes) !== undefined,
    read: (address, count) => readBits(...place(address, count), count),
    write: (address, count, bits) => {
      writeBits(...place(address, count), count, bits);
    },
    allocate: (bytes) => {
      const address = next;
      allocations.push({ address, bytes: bytes.slice() });
      const granule = BigInt(GRANULE_BYTES);
      next += (BigInt(bytes.length) / granule + 2n) * granule;
      return address;
    },
    bytesAt: (address) => place(address, 0)[0],
  };
}
