/**
 * Address spaces. Global and constant addresses are absolute. Shared, local and param addresses are
 * offsets in their own space; as generic addresses they lie in windows near the top of 4 GiB, so
 * that they fit in the 32-bit addresses of old text too. Memory handed to the interpreter stays
 * below the windows, or above 4 GiB.
 */
import type { StateSpace, Symbol } from "../ir/types.ts";
import { readBits, writeBits, type InterpreterMemory } from "./memory.ts";
import { FaultSignal } from "./outcome.ts";

type Windowed = "shared" | "local" | "param";

const WINDOW_BYTES = 0x0100_0000n;
const WINDOWS: Readonly<Record<Windowed, bigint>> = {
  shared: 0xfe00_0000n,
  local: 0xfd00_0000n,
  param: 0xfc00_0000n,
};

const WINDOW_NAMES = ["shared", "local", "param"] as const;

const isWindowed = (space: StateSpace): space is Windowed => Object.hasOwn(WINDOWS, space);

/** An address in a space as a generic address. */
export const toGeneric = (space: StateSpace, address: bigint): bigint =>
  isWindowed(space) ? address + WINDOWS[space] : address;

/** A generic address as an address in a space. */
export const fromGeneric = (space: StateSpace, address: bigint): bigint =>
  isWindowed(space) ? address - WINDOWS[space] : address;

/** All that one thread can reach. */
export type Spaces = {
  readonly memory: InterpreterMemory;
  readonly shared: Uint8Array;
  readonly local: Uint8Array;
  readonly parameters: Uint8Array;
  /** Where the module's data lies. */
  readonly dataAddress: bigint;
};

/** The address of a variable, in its own space. */
export function symbolAddress(spaces: Spaces, symbol: Symbol, offset: number): bigint {
  const base = isWindowed(symbol.space) ? 0n : spaces.dataAddress;
  return base + BigInt(symbol.offset + offset);
}

/** An access, for checks: `count` bytes at `address` of `space`. */
export type Access = {
  readonly space: StateSpace | "generic";
  readonly address: bigint;
  readonly bytes: number;
};

type Place =
  | { readonly kind: "memory"; readonly address: bigint }
  | { readonly kind: "segment"; readonly segment: Uint8Array; readonly offset: number };

/** The space that a generic address points into. */
export function resolveGeneric(access: Access): Access {
  if (access.space !== "generic") return access;
  for (const space of WINDOW_NAMES) {
    const offset = access.address - WINDOWS[space];
    if (offset >= 0n && offset < WINDOW_BYTES) return { ...access, space, address: offset };
  }
  return { ...access, space: "global" };
}

function locate(spaces: Spaces, access: Access): Place {
  const { space, address, bytes } = resolveGeneric(access);
  // Misalignment is seen before the bounds are, as on the device.
  if (address % BigInt(bytes) !== 0n) throw new FaultSignal(716, address, bytes);
  if (space === "global" || space === "const" || space === "generic") {
    if (spaces.memory.isAllocated(address, bytes)) return { kind: "memory", address };
    throw new FaultSignal(700, address, bytes);
  }
  const segment = space === "param" ? spaces.parameters : spaces[space];
  if (address < 0n || address + BigInt(bytes) > BigInt(segment.length)) {
    throw new FaultSignal(700, address, bytes);
  }
  return { kind: "segment", segment, offset: Number(address) };
}

/** Reads `count` elements of a checked access, each of the same size. */
export function readElements(spaces: Spaces, access: Access, count: number): bigint[] {
  const place = locate(spaces, access);
  const size = access.bytes / count;
  return Array.from({ length: count }, (_, index) =>
    place.kind === "memory"
      ? spaces.memory.read(place.address + BigInt(index * size), size)
      : readBits(place.segment, place.offset + index * size, size),
  );
}

/** Writes elements at a checked access, each of the same size. */
export function writeElements(spaces: Spaces, access: Access, elements: readonly bigint[]): void {
  const place = locate(spaces, access);
  const size = access.bytes / elements.length;
  for (const [index, bits] of elements.entries()) {
    if (place.kind === "memory") {
      spaces.memory.write(place.address + BigInt(index * size), size, bits);
    } else writeBits(place.segment, place.offset + index * size, size, bits);
  }
}
