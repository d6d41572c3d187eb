/**
 * A device that computes wrongly now and then, made to be found: whoever checks results must be
 * seen to catch it. Nothing else of the device is changed by it.
 */
import type { DeviceMemory } from "./device-memory.ts";

/** After each launch one bit of one element of its output is flipped. */
export type InjectedFault = {
  readonly kind: "wrong-element";
  /** The same seed flips the same bits in the same order; its low 32 bits count. */
  readonly seed: number;
};

/** Smaller outputs are spared: those of probes, which would take the die out of service. */
const SPOILED_BYTES_MIN = 1024;

const WORD_BYTES = 4;

/** What is known of a launch: its parameter block, and where an address may lie in it. */
export type SpoiledLaunch = {
  readonly parameters: Uint8Array;
  readonly addressOffsets: readonly number[];
};

/**
 * Spoils what a launch that has ended gave: one bit of one word, all equally likely, of the buffer
 * that its first pointer points into, where that is at least 1 KiB.
 */
export function createSpoiler(
  memory: DeviceMemory,
  { seed }: InjectedFault,
): (launch: SpoiledLaunch) => void {
  const random = fractions(seed);
  return ({ parameters, addressOffsets }) => {
    const view = new DataView(parameters.buffer, parameters.byteOffset, parameters.byteLength);
    for (const offset of addressOffsets) {
      const address = Number(view.getBigUint64(offset, true));
      const buffer = memory.nearestBelow(address);
      if (buffer === null || address >= buffer.address + buffer.bytes) continue;
      if (buffer.bytes < SPOILED_BYTES_MIN) return;
      const words = Math.floor(buffer.bytes / WORD_BYTES);
      const at = buffer.address + Math.floor(random() * words) * WORD_BYTES;
      const bit = Math.floor(random() * WORD_BYTES * 8);
      const place = at + (bit >> 3);
      memory.bytes[place] = (memory.bytes[place] ?? 0) ^ (1 << (bit & 7));
      return;
    }
  };
}

/** Numbers in [0, 1) of 32 bits: a Weyl sequence through MurmurHash3's finaliser. */
function fractions(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
}
