import assert from "node:assert/strict";
import { test } from "node:test";
import type { DeviceBuffer, GpuKernel } from "./gpu.ts";
import { packParameters, type KernelArgument, type ParameterErrorCode } from "./parameters.ts";

const buffer: DeviceBuffer = { address: 0x1122334455667788n, bytes: 64, free: () => undefined };

const kernel: GpuKernel = {
  name: "mixed",
  parameters: [
    { type: "u64", offset: 0, bytes: 8 },
    { type: "u32", offset: 8, bytes: 4 },
    { type: "f32", offset: 12, bytes: 4 },
    { type: "b8", offset: 16, bytes: 5 },
    { type: "s16", offset: 22, bytes: 2 },
    { type: "f64", offset: 24, bytes: 8 },
    { type: "b32", offset: 32, bytes: 4 },
    { type: "u8", offset: 36, bytes: 1 },
  ],
  parameterBytes: 40,
};

const good: readonly KernelArgument[] = [
  { buffer, offset: 8 },
  { type: "s32", value: -2 },
  { type: "f32", value: 1.5 },
  { bytes: Uint8Array.of(1, 2, 3, 4, 5) },
  { type: "s16", value: -300 },
  { type: "f64", value: -0.1 },
  { type: "f32", value: 2 },
  { type: "u8", value: 255 },
];

const replaced = (index: number, argument: KernelArgument): KernelArgument[] =>
  good.map((other, at) => (at === index ? argument : other));

test("packParameters lays every argument at its offset, little-endian, holes zero", () => {
  const packed = packParameters(kernel, good);
  assert.ok(packed.ok);
  const expected = new DataView(new ArrayBuffer(40));
  expected.setBigUint64(0, 0x1122334455667790n, true);
  expected.setInt32(8, -2, true);
  expected.setFloat32(12, 1.5, true);
  for (let at = 0; at < 5; at++) expected.setUint8(16 + at, at + 1);
  expected.setInt16(22, -300, true);
  expected.setFloat64(24, -0.1, true);
  expected.setFloat32(32, 2, true);
  expected.setUint8(36, 255);
  assert.deepEqual(packed.value, new Uint8Array(expected.buffer));
});

test("packParameters gives a whole buffer of its own, for a driver may keep its address", () => {
  const packed = packParameters(kernel, good);
  assert.ok(packed.ok);
  assert.equal(packed.value.byteOffset, 0);
  assert.equal(packed.value.buffer.byteLength, kernel.parameterBytes);
});

const refusals: readonly (readonly [
  what: string,
  args: readonly KernelArgument[],
  code: ParameterErrorCode,
  message: RegExp,
])[] = [
  ["too few", good.slice(1), "argument_count", /mixed takes 8 arguments .* but 7 were given/],
  ["too many", [...good, { buffer }], "argument_count", /takes 8 .* but 9/],
  ["none", [], "argument_count", /but 0/],
  [
    "a 64-bit number for u32",
    replaced(1, { type: "u64", value: 1 }),
    "argument_size",
    /argument 2 of mixed is declared \.u32 \(4 bytes\), but given u64 1, which is 8 bytes/,
  ],
  ["a short struct", replaced(3, { bytes: new Uint8Array(4) }), "argument_size", /4 bytes/],
  ["a float for u32", replaced(1, { type: "f32", value: 1 }), "argument_type", /\.u32 .*f32 1/],
  ["an integer for f32", replaced(2, { type: "u32", value: 1 }), "argument_type", /\.f32/],
  ["an address for f64", replaced(5, { buffer }), "argument_type", /\.f64 .*address/],
  ["u32 below 0", replaced(1, { type: "u32", value: -1 }), "argument_value", /u32 -1/],
  ["u32 at 2^32", replaced(1, { type: "u32", value: 2 ** 32 }), "argument_value", /range/],
  ["s16 over", replaced(4, { type: "s16", value: 32768 }), "argument_value", /s16 32768/],
  ["a fraction", replaced(1, { type: "u32", value: 1.5 }), "argument_value", /u32 1.5/],
  [
    "u64 over",
    replaced(0, { type: "u64", value: 1n << 64n }),
    "argument_value",
    /18446744073709551616/,
  ],
];

for (const [what, args, code, message] of refusals) {
  test(`packParameters refuses ${what}`, () => {
    const packed = packParameters(kernel, args);
    assert.ok(!packed.ok);
    assert.equal(packed.error.code, code);
    assert.match(packed.error.message, message);
  });
}

const accepted: readonly (readonly [what: string, args: readonly KernelArgument[]])[] = [
  ["u32 at 2^32 - 1", replaced(1, { type: "u32", value: 2 ** 32 - 1 })],
  ["s16 at -32768", replaced(4, { type: "s16", value: -32768 })],
  ["u64 at 2^64 - 1", replaced(0, { type: "u64", value: (1n << 64n) - 1n })],
  ["bytes for a number", replaced(2, { bytes: new Uint8Array(4) })],
  ["an f32 that needs rounding", replaced(2, { type: "f32", value: 0.1 })],
];

for (const [what, args] of accepted) {
  test(`packParameters takes ${what}`, () => {
    assert.ok(packParameters(kernel, args).ok);
  });
}

test("packParameters gives an empty block for a kernel without parameters", () => {
  const packed = packParameters({ name: "none", parameters: [], parameterBytes: 0 }, []);
  assert.ok(packed.ok);
  assert.equal(packed.value.length, 0);
});
