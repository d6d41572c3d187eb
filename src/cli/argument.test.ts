import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Pattern, ScalarType } from "../owner/mod.ts";
import {
  ARGUMENTS_MAX,
  parseArgument,
  parseArguments,
  type BufferInput,
  type BufferOutput,
  type KernelArgumentText,
} from "./argument.ts";

const scalar = (type: ScalarType, value: string): KernelArgumentText => ({
  kind: "scalar",
  type,
  value,
});

type Buffer = Extract<KernelArgumentText, { kind: "buffer" }>;

const NONE: BufferOutput = { kind: "none" };
const PREVIEW: BufferOutput = { kind: "preview" };
const ZERO: BufferInput = { kind: "zero" };
const file = (path: string): { kind: "file"; path: string } => ({ kind: "file", path });
const made = (pattern: Pattern): BufferInput => ({ kind: "pattern", pattern });
const constant = (type: ScalarType, value: string): BufferInput =>
  made({ kind: "constant", type, value });
const ramp = (scale: number, modulus: number): BufferInput =>
  made({ kind: "ramp", scale, modulus });

function typed(
  type: ScalarType,
  count: number,
  bytes: number,
  ends: Pick<Buffer, "input" | "output">,
): Buffer {
  return { kind: "buffer", bytes, elements: { type, count }, ...ends };
}

const untyped = (bytes: number | null, input: BufferInput, output: BufferOutput): Buffer => ({
  kind: "buffer",
  bytes,
  elements: null,
  input,
  output,
});

const GOOD: readonly [text: string, argument: KernelArgumentText][] = [
  ["u32:5", scalar("u32", "5")],
  ["u32:0xffffffff", scalar("u32", "4294967295")],
  ["u32:1Mi", scalar("u32", "1048576")],
  ["s32:-1", scalar("s32", "-1")],
  ["s32:-0x80000000", scalar("s32", "-2147483648")],
  ["u64:18446744073709551615", scalar("u64", "18446744073709551615")],
  ["s64:-9223372036854775808", scalar("s64", "-9223372036854775808")],
  ["f32:1.5", scalar("f32", "1.5")],
  ["f32:-2e-3", scalar("f32", "-0.002")],
  ["f32:-0", scalar("f32", "-0")],
  ["f64:nan", scalar("f64", "NaN")],
  ["f64:inf", scalar("f64", "Infinity")],
  ["f32:-inf", scalar("f32", "-Infinity")],
  ["in:@a.bin", untyped(null, file("a.bin"), NONE)],
  ["in:@we@ird=[1].bin", untyped(null, file("we@ird=[1].bin"), NONE)],
  ["in:f32[4]=ramp", typed("f32", 4, 16, { input: ramp(1, 2 ** 24), output: NONE })],
  ["in:f32[4]=ramp:0.5,1000", typed("f32", 4, 16, { input: ramp(0.5, 1000), output: NONE })],
  ["in:f32[4]=ramp:-1,1Ki", typed("f32", 4, 16, { input: ramp(-1, 1024), output: NONE })],
  [
    "in:u32[100]=index",
    typed("u32", 100, 400, { input: made({ kind: "index", type: "u32" }), output: NONE }),
  ],
  [
    "in:f64[1Ki]=random:7",
    typed("f64", 1024, 8192, {
      input: made({ kind: "random", type: "f64", seed: 7 }),
      output: NONE,
    }),
  ],
  [
    "in:s64[2]=random",
    typed("s64", 2, 16, { input: made({ kind: "random", type: "s64", seed: 0 }), output: NONE }),
  ],
  [
    "in:f32[2]=work:0x2a",
    typed("f32", 2, 8, { input: made({ kind: "work", seed: 42 }), output: NONE }),
  ],
  ["in:f32[16]=1.5", typed("f32", 16, 64, { input: constant("f32", "1.5"), output: NONE })],
  ["in:f32[1]=nan", typed("f32", 1, 4, { input: constant("f32", "NaN"), output: NONE })],
  ["in:s32[1]=-7", typed("s32", 1, 4, { input: constant("s32", "-7"), output: NONE })],
  ["out:4096", untyped(4096, ZERO, PREVIEW)],
  ["out:4Ki", untyped(4096, ZERO, PREVIEW)],
  ["out:4Ki@c.bin", untyped(4096, ZERO, file("c.bin"))],
  ["out:4Ki@a@b", untyped(4096, ZERO, file("a@b"))],
  ["out:f32[1Mi]", typed("f32", 2 ** 20, 2 ** 22, { input: ZERO, output: PREVIEW })],
  ["out:u64[3]@c", typed("u64", 3, 24, { input: ZERO, output: file("c") })],
  ["inout:@a@b", untyped(null, file("a"), file("b"))],
  [
    "inout:u32[4]=index",
    typed("u32", 4, 16, { input: made({ kind: "index", type: "u32" }), output: PREVIEW }),
  ],
  ["inout:u32[4]=0@c", typed("u32", 4, 16, { input: constant("u32", "0"), output: file("c") })],
];

for (const [text, argument] of GOOD) {
  test(`argument ${text}`, () => {
    assert.deepEqual(parseArgument(text), { ok: true, value: argument });
  });
}

const BAD: readonly [text: string, message: RegExp][] = [
  ["", /unknown form; write TYPE:VALUE/],
  ["5", /unknown form/],
  [":5", /unknown form/],
  ["i32:5", /unknown form/],
  ["U32:5", /unknown form/],
  ["u32:", /no whole number; write e.g. 42/],
  ["u32:-1", /does not fit u32 \(0 to 4294967295\)/],
  ["u32:4294967296", /does not fit u32/],
  ["u32:1.5", /no whole number/],
  ["u32:1e3", /no whole number/],
  ["u32:0x", /no whole number/],
  ["u32: 5", /no whole number/],
  ["s32:2147483648", /does not fit s32/],
  ["s32:-2147483649", /does not fit s32/],
  ["u64:18446744073709551616", /does not fit u64/],
  ["s64:9223372036854775808", /does not fit s64/],
  ["f32:1e39", /does not fit f32; write inf/],
  ["f64:1e309", /does not fit f64/],
  ["f32:0x10", /no number/],
  ["f32:", /no number/],
  ["f32:1.5f", /no number/],
  ["f32:.", /no number/],
  ["in:", /no generator; write in:@FILE/],
  ["in:@", /no file name/],
  ["in:f32[4]", /no generator/],
  ["in:f32[4]=", /no number/],
  ["in:f32[4]=foo", /unknown generator 'foo'/],
  ["in:f32[4]=index:3", /unknown generator 'index:3'/],
  ["in:f32[0]=index", /too small/],
  ["in:f32[]=index", /no size/],
  ["in:f32[-1]=index", /no size/],
  ["in:f32[1.5]=index", /no size/],
  ["in:f32[1mi]=index", /no size/],
  ["in:f16[4]=index", /no TYPE\[COUNT\].*TYPE: u8 s8/],
  ["in:f32(4)=index", /no TYPE\[COUNT\]/],
  ["in:u32[4]=ramp", /'ramp' makes f32 only/],
  ["in:f64[4]=work:1", /'work' makes f32 only/],
  ["in:f32[4]=work", /no seed/],
  ["in:f32[4]=random:-1", /no seed/],
  ["in:f32[4]=ramp:1", /no SCALE,MODULUS/],
  ["in:f32[4]=ramp:nan,3", /no SCALE,MODULUS/],
  ["in:f32[4]=ramp:1,0", /no SCALE,MODULUS/],
  ["in:u32[4]=-1", /does not fit u32/],
  ["in:f32[1024Gi]=index", /over 1024Gi bytes/],
  ["out:", /no size/],
  ["out:0", /too small/],
  ["out:4Ki@", /no file name after '@'/],
  ["out:2048Gi", /too large/],
  ["out:f32[4", /no TYPE\[COUNT\]/],
  ["inout:@a", /two file names/],
  ["inout:@a@", /two file names/],
  ["inout:@a@b@c", /cannot be told apart/],
  ["inout:4Ki", /no generator/],
];

for (const [text, message] of BAD) {
  test(`argument ${JSON.stringify(text)} is refused`, () => {
    const parsed = parseArgument(text);
    assert.ok(!parsed.ok);
    assert.match(parsed.error, message);
  });
}

test("arguments keep their order, and an error names its number and text", () => {
  assert.deepEqual(parseArguments(["u32:1", "s32:-1"]), {
    ok: true,
    value: [scalar("u32", "1"), scalar("s32", "-1")],
  });
  const bad = parseArguments(["u32:1", "u32:x"]);
  assert.ok(!bad.ok);
  assert.match(bad.error, /^argument 2 'u32:x': 'x' is no whole number/);
});

test("arguments have a limit", () => {
  const many = Array.from({ length: ARGUMENTS_MAX }, () => "u32:1");
  assert.ok(parseArguments(many).ok);
  assert.ok(!parseArguments([...many, "u32:1"]).ok);
});

test("argument: integers in range come back as decimal, in any spelling", () => {
  const spellings = [
    (n: bigint): string => String(n),
    (n: bigint): string => `0x${n.toString(16)}`,
  ];
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
      fc.constantFrom(...spellings),
      (n, spell) => {
        assert.deepEqual(parseArgument(`u64:${spell(n)}`), {
          ok: true,
          value: scalar("u64", String(n)),
        });
        assert.equal(parseArgument(`u32:${spell(n)}`).ok, n < 2n ** 32n);
        assert.equal(parseArgument(`s64:${spell(n)}`).ok, n < 2n ** 63n);
      },
    ),
  );
});

test("argument: any finite f64 that JavaScript prints comes back", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (n) => {
      const parsed = parseArgument(`f64:${Object.is(n, -0) ? "-0" : String(n)}`);
      assert.ok(parsed.ok && parsed.value.kind === "scalar");
      assert.ok(Object.is(Number(parsed.value.value), n));
    }),
  );
});

test("argument: any text is understood or refused, never thrown at", () => {
  fc.assert(
    fc.property(fc.constantFrom("in:", "out:", "inout:", "f32:", ""), fc.string(), (kind, rest) => {
      const parsed = parseArgument(kind + rest);
      if (!parsed.ok) assert.notEqual(parsed.error, "");
    }),
  );
});
