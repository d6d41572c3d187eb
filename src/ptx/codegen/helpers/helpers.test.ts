import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import {
  addFloat,
  divideFloat,
  fuseFloat,
  multiplyFloat,
  rootFloat,
  type FloatType,
} from "../../interpreter/softfloat.ts";
import type { Rounding } from "../../ir/types.ts";
import { ModuleBuilder } from "../../wasm/module.ts";
import { HELPER_NAMES, Helpers, helperType, type HelperName } from "./catalogue.ts";
import { ROUNDING_MODE } from "./rounding.ts";

type Callable = (...values: (number | bigint)[]) => number | bigint;

/** A helper on its own, called from here. */
function helper(name: HelperName): Callable {
  const module = new ModuleBuilder();
  const helpers = new Helpers(module);
  module.exports.function("helper", helpers.index(name));
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module.encode()));
  return instance.exports["helper"] as Callable;
}

const view = new DataView(new ArrayBuffer(8));

function doubleOf(bits: bigint): number {
  view.setBigUint64(0, bits);
  return view.getFloat64(0);
}

function bitsOf(value: number): bigint {
  view.setFloat64(0, value);
  return view.getBigUint64(0);
}

function singleOf(bits: number): number {
  view.setUint32(0, bits);
  return view.getFloat32(0);
}

function singleBits(value: number): bigint {
  view.setFloat32(0, value);
  return BigInt(view.getUint32(0));
}

const hex = (bits: bigint): string => bits.toString(16);

/** Any NaN is the same NaN: it is settled elsewhere. */
function assertSame(type: FloatType, found: number, expected: bigint, what: string): void {
  const value = type === "f64" ? doubleOf(expected) : singleOf(Number(expected));
  if (Number.isNaN(value)) assert.ok(Number.isNaN(found), what);
  else assert.equal(hex(type === "f64" ? bitsOf(found) : singleBits(found)), hex(expected), what);
}

/** f64 bit patterns with exponents near each other, near the ends, or anywhere. */
const double = fc
  .tuple(
    fc.boolean(),
    fc.oneof(
      fc.integer({ min: 1000, max: 1046 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 0, max: 0x7ff }),
      fc.integer({ min: 0x7d0, max: 0x7ff }),
      fc.integer({ min: 480, max: 560 }),
    ),
    fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 52n - 1n }),
      fc.constantFrom(0n, 1n, 2n ** 51n, 2n ** 52n - 1n, 2n ** 51n + 1n, 2n ** 26n),
    ),
  )
  .map(([sign, exponent, fraction]) => {
    return ((sign ? 1n : 0n) << 63n) | (BigInt(exponent) << 52n) | fraction;
  });

/** f32 bit patterns likewise. */
const single = fc
  .tuple(
    fc.boolean(),
    fc.oneof(
      fc.integer({ min: 100, max: 150 }),
      fc.integer({ min: 0, max: 30 }),
      fc.integer({ min: 0, max: 255 }),
    ),
    fc.oneof(
      fc.integer({ min: 0, max: 2 ** 23 - 1 }),
      fc.constantFrom(0, 1, 2 ** 22, 2 ** 23 - 1, 2 ** 22 + 1, 2 ** 12),
    ),
  )
  .map(
    ([sign, exponent, fraction]) => ((sign ? 2 ** 31 : 0) + exponent * 2 ** 23 + fraction) >>> 0,
  );

const DIRECTIONS: readonly Rounding[] = ["rn", "rz", "rm", "rp"];
const RUNS = { numRuns: 4000 };

suite("f64 helpers against exact arithmetic", () => {
  const fma = helper("fma64");
  const nearest = helper("fma64Nearest");

  const checkFma = (a: bigint, b: bigint, c: bigint): void => {
    const values = [a, b, c].map(doubleOf);
    for (const rounding of DIRECTIONS) {
      const unit = { type: "f64", rounding, flushSubnormals: false } as const;
      const expected = fuseFloat(unit, [a, b, c]);
      const what = `fma.${rounding} ${[a, b, c].map(hex).join(" ")}`;
      assertSame("f64", Number(fma(...values, ROUNDING_MODE[rounding])), expected, what);
      if (rounding === "rn") assertSame("f64", Number(nearest(...values)), expected, what);
    }
  };

  test("fma of anything, in every direction", () => {
    fc.assert(fc.property(double, double, double, checkFma), RUNS);
  });

  test("fma where the addend nearly cancels the product, or makes it a tie", () => {
    const near = fc.tuple(
      double,
      double,
      fc.integer({ min: -3, max: 3 }),
      fc.integer({ min: -60, max: 60 }),
    );
    fc.assert(
      fc.property(near, ([a, b, ulps, scale]) => {
        const product = bitsOf(-doubleOf(a) * doubleOf(b));
        checkFma(a, b, BigInt.asUintN(64, product + BigInt(ulps)));
        checkFma(a, b, bitsOf(doubleOf(a) * doubleOf(b) * 2 ** scale));
      }),
      RUNS,
    );
  });

  test("division and square root in a direction", () => {
    const [divideRz, divideRp] = [helper("divide64Rz"), helper("divide64Rp")];
    const [rootRz, rootRp] = [helper("squareRoot64Rz"), helper("squareRoot64Rp")];
    fc.assert(
      fc.property(double, double, (a, b) => {
        for (const [rounding, divide, root] of [
          ["rz", divideRz, rootRz],
          ["rp", divideRp, rootRp],
        ] as const) {
          const unit = { type: "f64", rounding, flushSubnormals: false } as const;
          const what = `${rounding} ${hex(a)} ${hex(b)}`;
          const quotient = Number(divide(doubleOf(a), doubleOf(b)));
          assertSame("f64", quotient, divideFloat(unit, a, b), `div.${what}`);
          assertSame("f64", Number(root(doubleOf(a))), rootFloat(unit, a), `sqrt.${what}`);
        }
      }),
      RUNS,
    );
  });
});

suite("f32 helpers against exact arithmetic", () => {
  test("fma, sums and products of anything, rounded from odd", () => {
    const [slow, odd] = [helper("fmaSlow"), helper("oddSum")];
    const demote = { rz: helper("demoteRz"), rp: helper("demoteRp") };
    fc.assert(
      fc.property(single, single, single, (...bits) => {
        const [a, b, c] = bits.map(singleOf) as [number, number, number];
        const exact = bits.map(BigInt) as [bigint, bigint, bigint];
        const unit = (rounding: Rounding) =>
          ({ type: "f32", rounding, flushSubnormals: false }) as const;
        const what = bits.map((one) => one.toString(16)).join(" ");
        const expected = fuseFloat(unit("rn"), exact);
        assertSame("f32", Number(slow(a, b, c)), expected, `fma.rn ${what}`);
        for (const rounding of ["rz", "rp"] as const) {
          const fused = Number(demote[rounding](Number(odd(a * b, c))));
          assertSame("f32", fused, fuseFloat(unit(rounding), exact), `fma.${rounding} ${what}`);
          const sum = Number(demote[rounding](Number(odd(a, c))));
          const exactSum = addFloat(unit(rounding), exact[0], exact[2]);
          assertSame("f32", sum, exactSum, `add.${rounding} ${what}`);
          const product = Number(demote[rounding](a * b));
          const exactProduct = multiplyFloat(unit(rounding), exact[0], exact[1]);
          assertSame("f32", product, exactProduct, `mul.${rounding} ${what}`);
        }
      }),
      RUNS,
    );
  });

  test("division and square root in a direction", () => {
    const divide = { rz: helper("divideRz"), rp: helper("divideRp") };
    const root = { rz: helper("squareRootRz"), rp: helper("squareRootRp") };
    fc.assert(
      fc.property(single, single, (a, b) => {
        for (const rounding of ["rz", "rp"] as const) {
          const unit = { type: "f32", rounding, flushSubnormals: false } as const;
          const what = `${rounding} ${a.toString(16)} ${b.toString(16)}`;
          const quotient = Number(divide[rounding](singleOf(a), singleOf(b)));
          assertSame("f32", quotient, divideFloat(unit, BigInt(a), BigInt(b)), `div.${what}`);
          const found = Number(root[rounding](singleOf(a)));
          assertSame("f32", found, rootFloat(unit, BigInt(a)), `sqrt.${what}`);
        }
      }),
      RUNS,
    );
  });
});

suite("other helpers", () => {
  test("the high halves of 64-bit products", () => {
    const [unsigned, signed] = [helper("multiplyHighU64"), helper("multiplyHighS64")];
    const any = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    const u64 = (value: bigint): bigint => BigInt.asUintN(64, value);
    fc.assert(
      fc.property(any, any, (a, b) => {
        assert.equal(u64(BigInt(unsigned(a, b))), (u64(a) * u64(b)) >> 64n);
        assert.equal(signed(a, b), (a * b) >> 64n);
      }),
      RUNS,
    );
  });

  test("ex2 and lg2 stay within one unit in the last place", () => {
    const [ex2, lg2] = [helper("ex2"), helper("lg2")];
    const within = (found: number, exact: number, what: string): void => {
      const distance = singleBits(found) - singleBits(Math.fround(exact));
      assert.ok(distance >= -1n && distance <= 1n, `${what}: ${found}, not ${exact}`);
    };
    fc.assert(
      fc.property(fc.float({ min: -160, max: 140, noNaN: true }), single, (x, bits) => {
        within(Number(ex2(x)), 2 ** x, `ex2 ${x}`);
        const y = Math.abs(singleOf(bits));
        if (y > 0 && y < Infinity) within(Number(lg2(y)), Math.log2(y), `lg2 ${y}`);
      }),
      RUNS,
    );
  });

  test("every half survives a conversion to f64 and back, NaNs made quiet", () => {
    const [widen, narrow] = [helper("halfToF64"), helper("halfFromF64")];
    for (let bits = 0; bits < 0x10000; bits += 1) {
      const isNan = (bits & 0x7fff) > 0x7c00;
      const found = Number(narrow(Number(widen(bits)), ROUNDING_MODE.rn));
      if (!isNan) assert.equal(found, bits);
      else assert.ok((found & 0x7fff) > 0x7c00);
    }
  });

  test("every helper has the type it is called with, and validates", () => {
    for (const name of HELPER_NAMES) {
      const module = new ModuleBuilder();
      module.imports.sharedMemory("holdfast", "memory", { minimum: 1, maximum: 1 });
      for (let count = 0; count < 6; count += 1) module.globals.add("i32");
      new Helpers(module).index(name);
      assert.ok(WebAssembly.validate(module.encode()), name);
      assert.ok(helperType(name).parameters.length > 0, name);
    }
  });
});
