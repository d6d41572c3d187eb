import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { formatDiagnostic, type DiagnosticCode } from "./diagnostic.ts";
import { NESTING_DEPTH_MAX } from "./limits.ts";
import { parsePtx } from "./parser.ts";
import { printModule } from "./print.ts";

const HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n";

/** The printed form of the text, or the diagnostic as a line. */
function roundTrip(text: string): string {
  const parsed = parsePtx(text, "t.ptx");
  if (!parsed.ok) return formatDiagnostic(parsed.error);
  return printModule(parsed.value);
}

/** The diagnostic of text that must be refused. */
function refusal(text: string): string {
  const parsed = parsePtx(text, "t.ptx");
  assert.ok(!parsed.ok, "the text is refused");
  return `${parsed.error.code} ${formatDiagnostic(parsed.error)}`;
}

const V = "'.version', which starts every PTX text";
const REFUSALS: readonly [name: string, text: string, code: DiagnosticCode, rest: string][] = [
  ["empty text", "", "invalid_ptx", `1:1: found the end of the text, expected ${V}`],
  ["only a comment", "// x\n", "invalid_ptx", `2:1: found the end of the text, expected ${V}`],
  ["other text", "hello", "invalid_ptx", `1:1: found 'hello', expected ${V}`],
  [
    "a newer version",
    ".version 9.1\n.target sm_75",
    "unsupported_ptx_version",
    "1:10: PTX 9.1 is newer than 9.0, the newest known here",
  ],
  [
    "a version of the far future",
    ".version 10.0\n.target sm_75",
    "unsupported_ptx_version",
    "1:10: PTX 10.0 is newer than 9.0, the newest known here",
  ],
  [
    "a NUL byte",
    `${HEAD}\0`,
    "invalid_ptx",
    "4:1: found the character U+0000, which PTX does not use here",
  ],
  [
    "truncated text",
    `${HEAD}.entry k(\n.param .u32 a`,
    "invalid_ptx",
    "5:14: found the end of the text, expected ')'",
  ],
  [
    "a body that is not closed",
    `${HEAD}.entry k()\n{ ret;`,
    "invalid_ptx",
    "5:7: found the end of the text, expected '}'",
  ],
  [
    "a missing semicolon",
    `${HEAD}.entry k()\n{\n\tret\n}`,
    "invalid_ptx",
    "7:1: found '}', expected an operand",
  ],
  [
    "a missing comma",
    `${HEAD}.entry k()\n{ add.u32 %a %b; }`,
    "invalid_ptx",
    "5:14: found '%b', expected ',' or ';' after the operand",
  ],
  [
    "an unknown type",
    `${HEAD}.global .x32 a;`,
    "invalid_ptx",
    "4:9: found '.x32', expected a type",
  ],
  [
    "a comment that is not closed",
    `${HEAD}/* a\nb`,
    "invalid_ptx",
    "4:1: this comment is not closed; expected '*/'",
  ],
  [
    "a number that is none",
    `${HEAD}.global .u32 a = 12ab;`,
    "invalid_ptx",
    "4:18: found '12ab', which is neither a number nor a name",
  ],
  [
    "an integer of more than 64 bits",
    `${HEAD}.global .u64 a = 0x10000000000000000;`,
    "invalid_ptx",
    "4:18: '0x10000000000000000' does not fit in 64 bits",
  ],
  [
    "a division by zero",
    `${HEAD}.global .u64 a = 1/0;`,
    "invalid_ptx",
    "4:19: a constant is divided by zero",
  ],
];
suite("parsePtx() refuses with the place, what was found and what was expected", () => {
  for (const [name, text, code, rest] of REFUSALS) {
    test(name, () => {
      assert.equal(refusal(text), `${code} t.ptx:${rest}`);
    });
  }

  test("control: the same head with a whole kernel is accepted", () => {
    assert.equal(roundTrip(`${HEAD}.entry k() { ret; }`), `${HEAD}.entry k()\n{\n\tret;\n}\n`);
  });
});

suite("parsePtx() on text that nests deeply", () => {
  const nestings: readonly [name: string, make: (depth: number) => string][] = [
    ["blocks", (depth) => `.entry k() ${"{".repeat(depth)}${"}".repeat(depth)}`],
    ["parentheses", (depth) => `.global .u32 a = ${"(".repeat(depth)}1${")".repeat(depth)};`],
    ["signs", (depth) => `.global .u32 a = ${"- ".repeat(depth)}1;`],
    ["braces", (depth) => `.global .u32 a[1] = ${"{".repeat(depth)}1${"}".repeat(depth)};`],
  ];
  for (const [name, make] of nestings) {
    test(`refuses a million levels of ${name}, and accepts eight`, () => {
      assert.match(refusal(HEAD + make(1_000_000)), /^limit_exceeded .* nests? deeper than 64$/);
      assert.ok(parsePtx(HEAD + make(8), "t.ptx").ok);
      assert.equal(NESTING_DEPTH_MAX, 64);
    });
  }
});

suite("constants are folded to 64 bits, as PTX computes them", () => {
  const cases: readonly [text: string, value: string][] = [
    ["017", "15"],
    ["0x1F", "31"],
    ["0b101", "5"],
    ["18446744073709551615", "-1"],
    ["5U", "5"],
    ["-5", "-5"],
    ["~0", "-1"],
    ["!7", "0"],
    ["2+3*4", "14"],
    ["(2+3)*4", "20"],
    ["1<<3|1", "9"],
    ["-7/2", "-3"],
    ["-7>>1", "-4"],
    ["0xffffffffffffffff>>60", "15"],
    ["1<<64", "0"],
    ["7 % 4-1", "2"],
    ["6&3^1", "3"],
    ["0f3F800000", "0f3f800000"],
    ["-0f3F800000", "0fbf800000"],
    ["1.5", "0d3ff8000000000000"],
    ["-2e3", "0dc09f400000000000"],
    ["sym", "sym"],
    ["generic(sym)+8", "generic(sym)+8"],
    ["sym-4", "sym+-4"],
    ["0xFF(sym)", "255(sym)"],
  ];
  for (const [text, value] of cases) {
    test(`${text} is ${value}`, () => {
      assert.equal(
        roundTrip(`${HEAD}.global .u64 a = ${text};`),
        `${HEAD}.global .u64 a = ${value};\n`,
      );
    });
  }
});

suite("every kind of statement survives printing", () => {
  const bodies: readonly string[] = [
    "@!%p bra $L__BB0_1;",
    "ld.global.nc.v4.f32 {%f1, _, %f2, %f3}, [%rd1+-16];",
    "setp.lt.and.s32 %p|%q, %r1, -1, !%z;",
    "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [t, {%f5, %f6}];",
    "call.uni (r0), helper, (a, b);",
    "mov.u32 %r1, %tid.x;",
    "mov.u64 %rd1, symbol+12;",
    "ld.shared::cta.u32 %r1, [0];",
    "targets: .branchtargets a, b;",
    ".loc 1 12 5",
    '.pragma "nounroll";',
    ".reg .b32 %r<10>;",
    ".local .align 16 .b8 depot[32];",
  ];
  for (const body of bodies) {
    test(body, () => {
      const parameters = ".param .u64 .ptr .global .align 4 a, .param .align 8 .b8 s[80]";
      const text = `${HEAD}.visible .entry k(${parameters})
.maxntid 256, 1, 1
{
\t${body}
}
`;
      const expected = text.replace("\ttargets", "targets");
      assert.equal(roundTrip(text), expected);
    });
  }

  test("debugging sections, file lines and DWARF lines are stepped over", () => {
    const text = `.version 1.4
.target sm_10, map_f64_to_f32
@@DWARF .byte 0x01, 0x02
.file 1 "a.cu"
.section .debug_info { .b8 1, 2 .b32 x+4 }
.entry k { .reg .u16 %rh<3>; exit; }
`;
    const parsed = parsePtx(text, "t.ptx");
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.value.targets, ["sm_10", "map_f64_to_f32"]);
    assert.equal(parsed.value.addressBits, 32);
  });
});

/** Text of tokens that PTX knows, in an order that it mostly does not. */
const tokens = fc.array(
  fc.constantFrom(
    ...[".entry", ".func", ".global", ".reg", ".u32", ".param", "k", "%r1", "add", ".u32", "["],
    ...["]", "{", "}", "(", ")", ",", ";", "=", "<", ">", "1", "0f3f800000", "-", "+", "@", "!"],
    ...["|", "_", ":", ".loc", ".section", ".pragma", '"x"', "\n", "//", "/*", "*/", "\0", "é"],
  ),
  { maxLength: 60 },
);

test("property: any text gives a module or a diagnostic inside the text, and never throws", () => {
  fc.assert(
    fc.property(tokens, (words) => {
      const text = HEAD + words.join(" ");
      const parsed = parsePtx(text, "t.ptx");
      if (parsed.ok) {
        const printed = printModule(parsed.value);
        assert.equal(roundTrip(printed), printed);
      } else {
        const line = text.split("\n")[parsed.error.line - 1];
        assert.ok(line !== undefined && parsed.error.column <= line.length + 1);
      }
    }),
    { numRuns: 500 },
  );
});

test("property: text cut at any place is refused or accepted, and never throws", () => {
  const whole = `${HEAD}.visible .entry k(.param .u64 a)
{
\t.reg .b32 %r<3>;
\tadd.u32 %r1, %r2, 0x10;
\t@%p bra end;
end:
\tst.global.v2.u32 [%rd1+4], {%r1, %r2};
}
`;
  for (let length = 0; length <= whole.length; length += 1) {
    roundTrip(whole.slice(0, length));
  }
  assert.ok(parsePtx(whole, "t.ptx").ok);
});
