/**
 * Places for what the driver writes through a pointer. Each is an ArrayBuffer of its own, outside
 * the JavaScript heap, so that it does not move; they are used again and again, since one thread
 * makes one call at a time and reads the answer before the next.
 */

const ints = new Int32Array(new ArrayBuffer(4));
const longs = new BigUint64Array(new ArrayBuffer(8));
const moreLongs = new BigUint64Array(new ArrayBuffer(8));
const floats = new Float32Array(new ArrayBuffer(4));

/** An `int *`, a 64-bit `*` (a handle, an address or a size), a second one, and a `float *`. */
export const out = { int: ints, long: longs, otherLong: moreLongs, float: floats } as const;

export const outInt = (): number => ints[0] ?? 0;
export const outLong = (): bigint => longs[0] ?? 0n;
export const outSize = (): number => Number(longs[0]);
export const outOtherSize = (): number => Number(moreLongs[0]);
export const outFloat = (): number => floats[0] ?? 0;

/** The text up to the first NUL. */
export function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}
