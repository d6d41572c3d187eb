import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import type { LaunchArgument } from "./launch-argument.ts";
import {
  decodeLaunchDescriptor,
  encodeLaunchDescriptor,
  launchDescriptorBytes,
  type LaunchDescriptor,
} from "./launch-descriptor.ts";
import { ARGUMENT_TYPE, ARGUMENT_TYPE_BYTES, type ArgumentType } from "./tables.ts";

const SHA256 = Array.from({ length: 32 }, (_, index) => index.toString(16).padStart(2, "0")).join(
  "",
);

const ENTRY = "_Z4axpyfPKfPf";

/** 64 + 6 * 32 + 13, up to a multiple of 8. */
const DESC_BYTES = 272;
const EXTENT = { inBytes: 4096, outBytes: 2048 };

/** One argument of each kind, each slice at an edge of what it must lie in. */
const LAUNCH: LaunchDescriptor = {
  moduleSha256: SHA256,
  entry: ENTRY,
  arguments: [
    { kind: "scalar", type: "f32", value: 0x3fc0_0000n },
    { kind: "in", type: "f32", offset: DESC_BYTES, bytes: 1000 },
    { kind: "out", type: "u8", outOffset: 0, bytes: 1023 },
    { kind: "inout", type: "f64", offset: 3072, outOffset: 1024, bytes: 1024 },
    { kind: "alias", argument: 2, offset: 1022 },
    { kind: "bytes", offset: 2000, bytes: 3 },
  ],
};

const decode = (bytes: Uint8Array): ReturnType<typeof decodeLaunchDescriptor> =>
  decodeLaunchDescriptor(bytes, EXTENT);

test("a launch is read back as it was written", () => {
  const bytes = encodeLaunchDescriptor(LAUNCH);
  assert.equal(bytes.length, DESC_BYTES);
  assert.equal(launchDescriptorBytes(6, ENTRY), DESC_BYTES);
  assert.deepEqual(decode(bytes), { ok: true, value: LAUNCH });
});

test("a descriptor without arguments, its name not padded", () => {
  const launch = { moduleSha256: SHA256, entry: "k", arguments: [] };
  const bytes = encodeLaunchDescriptor(launch);
  assert.equal(bytes.length, 72);
  const extent = { inBytes: 65, outBytes: 0 };
  assert.deepEqual(decodeLaunchDescriptor(bytes.subarray(0, 65), extent), {
    ok: true,
    value: launch,
  });
});

/** Writes numbers into a descriptor: at an offset, of so many bytes, a value. */
function patched(changes: readonly (readonly [number, 4 | 8, bigint])[]): Uint8Array {
  const bytes = encodeLaunchDescriptor(LAUNCH);
  const view = new DataView(bytes.buffer);
  for (const [offset, size, value] of changes) {
    if (size === 4) view.setUint32(offset, Number(value), true);
    else view.setBigUint64(offset, value, true);
  }
  return bytes;
}

/** Where the fields of argument `index` lie. */
const KIND = (index: number): number => 64 + 32 * index;
const TYPE = (index: number): number => KIND(index) + 4;
const OFFSET = (index: number): number => KIND(index) + 8;
const BYTES = (index: number): number => KIND(index) + 16;
const VALUE = (index: number): number => KIND(index) + 24;

const ALL = 0xffff_ffff_ffff_ffffn;

suite("what is wrong in a head", () => {
  const cases = [
    ["another magic", [[0, 4, 0n]], /magic|begins with/],
    ["257 arguments", [[12, 4, 257n]], /argument_count is 257.*at most 256/],
    ["2^32 - 1 arguments", [[12, 4, 0xffff_ffffn]], /argument_count/],
    ["no name", [[52, 4, 0n]], /entry_bytes is 0.*1 to 1024/],
    ["a long name", [[52, 4, 1025n]], /entry_bytes is 1025/],
    ["a name that lies in the arguments", [[48, 4, 255n]], /name at 255.*not inside 256\.\.271/],
    ["a name past the end", [[48, 4, 260n]], /name at 260\.\.272 is not inside/],
    ["a name far past the end", [[48, 4, 0xffff_ffffn]], /is not inside/],
    ["a NUL in the name", [[52, 4, 14n]], /no PTX identifier.*NUL/],
    ["a name that is no identifier", [[256, 4, 0x2e2e_2e2en]], /no PTX identifier/],
    ["version 2", [[8, 4, 0x0040_0002n]], /version is 2: it must be 1/],
    ["a head of 32 bytes", [[8, 4, 0x0020_0001n]], /header_bytes is 32: it must be 64/],
    ["reserved bytes", [[56, 8, 1n]], /reserved/],
  ] as const;
  for (const [name, changes, message] of cases) {
    test(name, () => {
      const decoded = decode(patched(changes));
      assert.ok(!decoded.ok);
      assert.equal(decoded.error.code, "bad_descriptor");
      assert.match(decoded.error.message, message);
    });
  }

  test("every truncation below the name's end; control: up to there", () => {
    const bytes = encodeLaunchDescriptor(LAUNCH);
    for (let length = 0; length < 256 + ENTRY.length; length++) {
      const decoded = decode(bytes.subarray(0, length));
      assert.equal(decoded.ok ? "ok" : decoded.error.code, "bad_descriptor");
    }
    assert.ok(decode(bytes.subarray(0, 256 + ENTRY.length)).ok);
  });

  test("a descriptor of more than 64 KiB", () => {
    const large = new Uint8Array(65_537);
    large.set(encodeLaunchDescriptor(LAUNCH));
    const extent = { inBytes: 1 << 20, outBytes: 2048 };
    const decoded = decodeLaunchDescriptor(large, extent);
    assert.match(decoded.ok ? "" : decoded.error.message, /desc_bytes is 65537.*at most 65536/);
  });
});

const ARGUMENT_CASES = [
  ["kind 0", [[KIND(0), 4, 0n]], "bad_descriptor", /argument 0: kind 0 is none/],
  ["kind 7", [[KIND(5), 4, 7n]], "bad_descriptor", /argument 5: kind 7 is none/],
  ["a scalar of type 0", [[TYPE(0), 4, 0n]], "bad_descriptor", /argument 0: type 0 is none/],
  ["a slice of type 11", [[TYPE(1), 4, 11n]], "bad_descriptor", /argument 1: type 11 is none/],
  ["an f32 of 33 bits", [[VALUE(0), 8, 1n << 32n]], "bad_descriptor", /32 bits of a f32/],
  [
    "a sign-extended s8",
    [
      [TYPE(0), 4, 2n],
      [VALUE(0), 8, ALL],
    ],
    "bad_descriptor",
    /8 bits of a s8/,
  ],
  ["a scalar with an offset", [[OFFSET(0), 8, 8n]], "bad_descriptor", /offset is 8.*scalar/],
  ["a scalar with bytes", [[BYTES(0), 8, 4n]], "bad_descriptor", /bytes is 4.*scalar/],
  ["an in with a value", [[VALUE(1), 8, 1n]], "bad_descriptor", /value is 1.*kind in/],
  ["an out with an offset", [[OFFSET(2), 8, 8n]], "bad_descriptor", /offset is 8.*kind out/],
  ["an alias with a type", [[TYPE(4), 4, 9n]], "bad_descriptor", /type is 9.*alias/],
  ["an alias with bytes", [[BYTES(4), 8, 9n]], "bad_descriptor", /bytes is 9.*alias/],
  ["a struct with a type", [[TYPE(5), 4, 9n]], "bad_descriptor", /type is 9.*kind bytes/],
  ["a struct with a value", [[VALUE(5), 8, 9n]], "bad_descriptor", /value is 9.*kind bytes/],
  ["no bytes", [[BYTES(1), 8, 0n]], "bad_descriptor", /0 bytes are no whole number/],
  [
    "a part of an element",
    [[BYTES(1), 8, 1002n]],
    "bad_descriptor",
    /1002 bytes.*f32.*4 bytes each/,
  ],
  ["a struct of no bytes", [[BYTES(5), 8, 0n]], "bad_descriptor", /1 to 32764 bytes, not 0/],
  ["a large struct", [[BYTES(5), 8, 32_765n]], "bad_descriptor", /not 32765/],
  ["an in at 4 mod 8", [[OFFSET(1), 8, 276n]], "misaligned", /offset 276 is no multiple of 8/],
  ["a struct at 4 mod 8", [[OFFSET(5), 8, 2004n]], "misaligned", /argument 5: offset 2004/],
  ["an out at 4 mod 8", [[VALUE(2), 8, 4n]], "misaligned", /value 4 is no multiple of 8/],
  ["an inout at 4 mod 8", [[VALUE(3), 8, 1028n]], "misaligned", /argument 3: value 1028/],
  [
    "an in inside the descriptor",
    [[OFFSET(1), 8, 264n]],
    "out_of_bounds",
    /264\.\.1263.*272\.\.4095/,
  ],
  ["an in past the end", [[OFFSET(1), 8, 3104n]], "out_of_bounds", /3104\.\.4103/],
  ["an inout past the end", [[OFFSET(3), 8, 3080n]], "out_of_bounds", /argument 3: bytes 3080/],
  ["a struct past the end", [[OFFSET(5), 8, 4096n]], "out_of_bounds", /argument 5: bytes 4096/],
  [
    "an in that wraps",
    [
      [OFFSET(1), 8, ALL - 7n],
      [BYTES(1), 8, 4096n],
    ],
    "out_of_bounds",
    /argument 1/,
  ],
  ["an out past the end", [[VALUE(2), 8, 1032n]], "out_of_bounds", /1032\.\.2054 of out.*2048/],
  ["an out that wraps", [[VALUE(2), 8, ALL - 7n]], "out_of_bounds", /argument 2/],
  ["outs that overlap", [[VALUE(3), 8, 1016n]], "out_of_bounds", /argument 3: .*argument 2.*1022/],
  ["outs at one place", [[VALUE(3), 8, 0n]], "out_of_bounds", /overlaps/],
  ["an alias of a scalar", [[OFFSET(4), 8, 0n]], "bad_descriptor", /argument 4: .*0 is scalar/],
  ["an alias of itself", [[OFFSET(4), 8, 4n]], "bad_descriptor", /4 is alias/],
  ["an alias of nothing", [[OFFSET(4), 8, 6n]], "bad_descriptor", /6 is no argument/],
  ["an alias far out", [[OFFSET(4), 8, ALL]], "bad_descriptor", /no argument/],
  ["an alias past its buffer", [[VALUE(4), 8, 1024n]], "out_of_bounds", /1024 is beyond the 1023/],
] as const;

suite("what is wrong in an argument", () => {
  for (const [name, changes, code, message] of ARGUMENT_CASES) {
    test(name, () => {
      const decoded = decode(patched(changes));
      assert.ok(!decoded.ok);
      assert.match(decoded.error.message, message);
      assert.equal(decoded.error.code, code);
    });
  }
  test("control: nothing changed", () => assert.ok(decode(patched([])).ok));
  test("control: an alias of the end of its buffer", () => {
    assert.ok(decode(patched([[VALUE(4), 8, 1023n]])).ok);
  });
  test("in slices may overlap, and an alias may come before what it names", () => {
    const launch: LaunchDescriptor = {
      ...LAUNCH,
      arguments: [
        { kind: "alias", argument: 1, offset: 0 },
        { kind: "in", type: "u8", offset: DESC_BYTES, bytes: 64 },
        { kind: "inout", type: "u8", offset: DESC_BYTES, outOffset: 0, bytes: 64 },
      ],
    };
    assert.deepEqual(decode(encodeLaunchDescriptor(launch)), { ok: true, value: launch });
  });
});

const TYPES = Object.keys(ARGUMENT_TYPE) as ArgumentType[];

/** Any launch whose slices lie one behind the other, so that it is right by construction. */
const launches = fc
  .record({
    entry: fc.stringMatching(/^[A-Za-z][A-Za-z0-9_$]{0,40}$/),
    kinds: fc.array(
      fc.record({
        kind: fc.constantFrom("scalar", "in", "out", "inout", "bytes"),
        type: fc.constantFrom(...TYPES),
        elements: fc.integer({ min: 1, max: 9 }),
        bits: fc.bigInt({ min: 0n, max: ALL }),
      }),
      { maxLength: 20 },
    ),
  })
  .map(({ entry, kinds }) => {
    let offset = launchDescriptorBytes(kinds.length, entry);
    let outOffset = 0;
    const made = kinds.map(({ kind, type, elements, bits }): LaunchArgument => {
      const bytes = elements * ARGUMENT_TYPE_BYTES[type];
      const place = { offset, outOffset };
      if (kind === "scalar") {
        return { kind, type, value: BigInt.asUintN(8 * ARGUMENT_TYPE_BYTES[type], bits) };
      }
      if (kind !== "out") offset += Math.ceil(bytes / 8) * 8;
      if (kind === "out" || kind === "inout") outOffset += Math.ceil(bytes / 8) * 8;
      if (kind === "bytes") return { kind, offset: place.offset, bytes };
      if (kind === "in") return { kind, type, offset: place.offset, bytes };
      if (kind === "out") return { kind, type, outOffset: place.outOffset, bytes };
      return { kind, type, ...place, bytes };
    });
    const launch: LaunchDescriptor = { moduleSha256: SHA256, entry, arguments: made };
    return { launch, extent: { inBytes: offset, outBytes: outOffset } };
  });

suite("any launch", () => {
  test("is read back as it was written", () => {
    fc.assert(
      fc.property(launches, ({ launch, extent }) => {
        const decoded = decodeLaunchDescriptor(encodeLaunchDescriptor(launch), extent);
        assert.deepEqual(decoded, { ok: true, value: launch });
      }),
    );
  });

  test("with any byte changed is a launch or a named reason", () => {
    const change = fc.record({ place: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
    fc.assert(
      fc.property(launches, fc.array(change, { maxLength: 4 }), ({ launch, extent }, changes) => {
        const bytes = encodeLaunchDescriptor(launch);
        for (const { place, byte } of changes) bytes[place % bytes.length] = byte;
        const decoded = decodeLaunchDescriptor(bytes, extent);
        assert.ok(decoded.ok || decoded.error.message.length > 0);
      }),
      { numRuns: 1000 },
    );
  });

  test("any bytes are a launch or a named reason", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const decoded = decodeLaunchDescriptor(bytes, EXTENT);
        assert.ok(decoded.ok || decoded.error.code === "bad_descriptor");
      }),
      { numRuns: 10_000 },
    );
  });
});
