/** Integer operations that wasm lacks. */
import type { Code } from "../../wasm/code.ts";
import type { Helper } from "./helper.ts";

/** (a, b) -> the high 64 bits of the unsigned product, by four products of halves. */
const multiplyHighU64: Helper = {
  type: { parameters: ["i64", "i64"], results: ["i64"] },
  write: (code) => {
    const [aLow, bLow, middle] = [code.local("i64"), code.local("i64"), code.local("i64")];
    code.get(0).i64(0xffffffffn).op("i64.and").set(aLow).get(0).i64(32).op("i64.shr_u").set(0);
    code.get(1).i64(0xffffffffn).op("i64.and").set(bLow).get(1).i64(32).op("i64.shr_u").set(1);
    // No sum overflows: (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
    code.get(0).get(bLow).op("i64.mul").get(aLow).get(bLow).op("i64.mul").i64(32).op("i64.shr_u");
    code.op("i64.add").tee(middle).i64(32).op("i64.shr_u");
    code.get(0).get(1).ops("i64.mul", "i64.add");
    code.get(aLow).get(1).op("i64.mul").get(middle).i64(0xffffffffn).ops("i64.and", "i64.add");
    code.i64(32).ops("i64.shr_u", "i64.add");
  },
};

/** (a, b) -> the high 64 bits of the signed product: the unsigned one, less what signs added. */
const multiplyHighS64: Helper = {
  type: { parameters: ["i64", "i64"], results: ["i64"] },
  write: (code, indexOf) => {
    const correction = (x: number, y: number): Code =>
      code.get(x).i64(63).op("i64.shr_s").get(y).op("i64.and");
    code.get(0).get(1).call(indexOf("multiplyHighU64"));
    correction(0, 1).op("i64.sub");
    correction(1, 0).op("i64.sub");
  },
};

/** Swaps neighbouring groups of bits, from single bits to halves of a word. */
const reverse = (type: "i32" | "i64", steps: readonly (readonly [number, bigint])[]): Helper => ({
  type: { parameters: [type], results: [type] },
  write: (code) => {
    const constant = (value: bigint): Code =>
      type === "i32" ? code.i32(Number(value)) : code.i64(value);
    for (const [count, mask] of steps) {
      code.get(0);
      constant(BigInt(count)).op(`${type}.shr_u`);
      constant(mask).op(`${type}.and`).get(0);
      constant(mask).op(`${type}.and`);
      constant(BigInt(count)).ops(`${type}.shl`, `${type}.or`).set(0);
    }
    code.get(0);
    constant(type === "i32" ? 16n : 32n).op(`${type}.rotl`);
  },
});

const reverse32 = reverse("i32", [
  [1, 0x55555555n],
  [2, 0x33333333n],
  [4, 0x0f0f0f0fn],
  [8, 0x00ff00ffn],
]);

const reverse64 = reverse("i64", [
  [1, 0x5555555555555555n],
  [2, 0x3333333333333333n],
  [4, 0x0f0f0f0f0f0f0f0fn],
  [8, 0x00ff00ff00ff00ffn],
  [16, 0x0000ffff0000ffffn],
]);

export const INTEGER_HELPERS = {
  multiplyHighU64,
  multiplyHighS64,
  reverse32,
  reverse64,
} as const;
