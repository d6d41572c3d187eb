import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import type { Result } from "../base/mod.ts";
import { crc32c } from "./crc32c.ts";
import { CBD2_DONE, CUBD_DONE } from "./done-records.ts";
import { CUBB2_JOB, CUBB_JOB } from "./job-records.ts";
import { LAUNCH_ARGUMENT, LAUNCH_DESCRIPTOR } from "./launch-records.ts";
import type { RecordFault } from "./record.ts";
import {
  SAMPLE_ARGUMENT,
  SAMPLE_CBD2,
  SAMPLE_CUBB,
  SAMPLE_CUBB2,
  SAMPLE_CUBD,
  SAMPLE_HEADER,
} from "./samples.ts";

const fromHex = (hex: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(hex, "hex"));
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** What any of the records can do; the type of its value is its own business. */
type Codec<Value> = {
  readonly title: string;
  readonly bytes: number;
  readonly encode: (value: Value) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Result<Value, RecordFault>;
};

type Case = {
  readonly title: string;
  /** As the protocol states it. */
  readonly bytes: number;
  readonly declaredBytes: number;
  readonly sample: { readonly value: unknown; readonly hex: string };
  readonly encodeSample: () => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Result<unknown, RecordFault>;
  /** Decodes and encodes again; null where the bytes are not this record. */
  readonly recode: (bytes: Uint8Array) => Uint8Array | null;
};

function makeCase<Value>(
  bytes: number,
  codec: Codec<Value>,
  sample: { readonly value: Value; readonly hex: string },
): Case {
  return {
    title: codec.title,
    bytes,
    declaredBytes: codec.bytes,
    sample,
    encodeSample: () => codec.encode(sample.value),
    decode: codec.decode,
    recode: (given) => {
      const decoded = codec.decode(given);
      return decoded.ok ? codec.encode(decoded.value) : null;
    },
  };
}

const V2_CASES: readonly Case[] = [
  makeCase(128, CUBB2_JOB, SAMPLE_CUBB2),
  makeCase(128, CBD2_DONE, SAMPLE_CBD2),
];

const CASES: readonly Case[] = [
  ...V2_CASES,
  makeCase(48, CUBB_JOB, SAMPLE_CUBB),
  makeCase(40, CUBD_DONE, SAMPLE_CUBD),
  makeCase(64, LAUNCH_DESCRIPTOR, SAMPLE_HEADER),
  makeCase(32, LAUNCH_ARGUMENT, SAMPLE_ARGUMENT),
];

/** How a decode ended, in two words. */
function outcome(decoded: Result<unknown, RecordFault>): readonly [string, bigint | null] {
  return decoded.ok ? ["ok", null] : [decoded.error.code, decoded.error.seq];
}

for (const { title, bytes, declaredBytes, sample, encodeSample, decode } of CASES) {
  suite(title, () => {
    test(`has ${String(bytes)} bytes`, () => assert.equal(declaredBytes, bytes));
    test("is written as the golden bytes", () => assert.equal(toHex(encodeSample()), sample.hex));
    test("is read from the golden bytes", () => {
      assert.deepEqual(decode(fromHex(sample.hex)), { ok: true, value: sample.value });
    });
    test("is read from inside a larger buffer, whatever follows", () => {
      const buffer = new Uint8Array(bytes + 16).fill(0xff);
      buffer.set(fromHex(sample.hex), 3);
      assert.deepEqual(decode(buffer.subarray(3)), { ok: true, value: sample.value });
    });
    test("every truncation is short", () => {
      for (let length = 0; length < bytes; length++) {
        const cut = fromHex(sample.hex).subarray(0, length);
        assert.deepEqual(outcome(decode(cut)), ["short", null], `${String(length)} bytes`);
      }
    });
  });
}

for (const { title, bytes, sample, decode } of V2_CASES) {
  test(`${title}: every single-bit flip is found`, () => {
    for (let bit = 0; bit < 8 * bytes; bit++) {
      const flipped = fromHex(sample.hex);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const code = bit < 64 ? "bad_magic" : "bad_crc";
      assert.deepEqual(outcome(decode(flipped)), [code, null], `bit ${String(bit)}`);
    }
  });
}

/** A sample with some bytes written over, and its checksum made right again. */
function resealed(hex: string, changes: readonly (readonly [number, number])[]): Uint8Array {
  const record = fromHex(hex);
  for (const [offset, byte] of changes) record[offset] = byte;
  const view = new DataView(record.buffer);
  if (record.length === 128) view.setUint32(124, crc32c(record.subarray(0, 124)), true);
  return record;
}

suite("faults in fields that are fixed", () => {
  const seq = SAMPLE_CUBB2.value.seq;
  const cases = [
    ["control: resealed as it was", CUBB2_JOB, SAMPLE_CUBB2.hex, [], "ok", null],
    ["a job of version 3", CUBB2_JOB, SAMPLE_CUBB2.hex, [[8, 3]], "bad_version", seq],
    ["a job of version 258", CUBB2_JOB, SAMPLE_CUBB2.hex, [[9, 1]], "bad_version", seq],
    ["a job of 129 bytes", CUBB2_JOB, SAMPLE_CUBB2.hex, [[10, 129]], "bad_record_bytes", seq],
    ["reserved, first byte", CUBB2_JOB, SAMPLE_CUBB2.hex, [[100, 1]], "bad_reserved", seq],
    ["reserved, last byte", CUBB2_JOB, SAMPLE_CUBB2.hex, [[123, 128]], "bad_reserved", seq],
    [
      "version comes first",
      CUBB2_JOB,
      SAMPLE_CUBB2.hex,
      [
        [8, 3],
        [10, 1],
        [100, 1],
      ],
      "bad_version",
      seq,
    ],
    [
      "then size",
      CUBB2_JOB,
      SAMPLE_CUBB2.hex,
      [
        [10, 1],
        [100, 1],
      ],
      "bad_record_bytes",
      seq,
    ],
    ["a done of version 1", CBD2_DONE, SAMPLE_CBD2.hex, [[8, 1]], "bad_version", 42n],
    ["a v1 job of version 2", CUBB_JOB, SAMPLE_CUBB.hex, [[4, 2]], "bad_version", 1000n],
    ["a v1 job, other magic", CUBB_JOB, SAMPLE_CUBB.hex, [[3, 0x43]], "bad_magic", null],
    ["a v1 done of version 0", CUBD_DONE, SAMPLE_CUBD.hex, [[4, 0]], "bad_version", 1000n],
    [
      "a descriptor of version 2",
      LAUNCH_DESCRIPTOR,
      SAMPLE_HEADER.hex,
      [[8, 2]],
      "bad_version",
      null,
    ],
    [
      "its head of 65 bytes",
      LAUNCH_DESCRIPTOR,
      SAMPLE_HEADER.hex,
      [[10, 65]],
      "bad_record_bytes",
      null,
    ],
    ["its reserved bytes", LAUNCH_DESCRIPTOR, SAMPLE_HEADER.hex, [[63, 1]], "bad_reserved", null],
  ] as const;
  for (const [name, record, hex, changes, code, expectedSeq] of cases) {
    test(name, () => {
      assert.deepEqual(outcome(record.decode(resealed(hex, changes))), [code, expectedSeq]);
    });
  }
});

suite("a record in the place of another", () => {
  const cases = [
    ["v1 where v2 is served", CUBB2_JOB, SAMPLE_CUBB.hex, /v1 job \(CUBB\).*--ram/],
    ["v2 where v1 is served", CUBB_JOB, SAMPLE_CUBB2.hex, /v2 job \(CUBB2\).*--in/],
    ["a v2 done where v2 jobs are", CUBB2_JOB, SAMPLE_CBD2.hex, /done record.*--job and --done/],
    ["a v1 done where v1 jobs are", CUBB_JOB, SAMPLE_CUBD.hex, /done record.*--job and --done/],
    ["text", CUBB2_JOB, toHex(new TextEncoder().encode("hello")), /CUBB2.*not with.*68 65 6c/],
  ] as const;
  for (const [name, record, hex, message] of cases) {
    test(`${name} is told by name`, () => {
      const decoded = record.decode(fromHex(hex.padEnd(256, "0")));
      assert.ok(!decoded.ok);
      assert.equal(decoded.error.code, "bad_magic");
      assert.equal(decoded.error.seq, null);
      assert.match(decoded.error.message, message);
    });
  }
});

suite("any bytes", () => {
  const RUNS = { numRuns: 10_000 };
  for (const { title, bytes, sample, decode, recode } of CASES) {
    test(`${title}: a value or a named reason`, () => {
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 160 }), (given) => {
          const decoded = decode(given);
          return decoded.ok || decoded.error.message.length > 0;
        }),
        RUNS,
      );
    });
    test(`${title}: with the right magic and checksum, a value or a named reason`, () => {
      fc.assert(
        fc.property(fc.uint8Array({ minLength: bytes, maxLength: bytes }), (given) => {
          const record = fromHex(sample.hex);
          record.set(given.subarray(12), 12);
          const sealed = resealed(toHex(record), []);
          const [code] = outcome(decode(sealed));
          assert.ok(code === "ok" || code === "bad_reserved", code);
          if (code === "ok") assert.notEqual(recode(sealed), null);
        }),
      );
    });
  }
});

const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const u64 = fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn });

const anyCubb2 = fc.record({
  flags: u32,
  seq: u64,
  op: u32,
  timeoutMs: u32,
  n: u64,
  inBytes: u64,
  outBytes: u64,
  grid: fc.tuple(u32, u32, u32),
  block: fc.tuple(u32, u32, u32),
  sharedBytes: u32,
  descBytes: u32,
  guestId: u64,
  iters: u32,
});

suite("what is written is read back", () => {
  test("CUBB2 job", () => {
    fc.assert(
      fc.property(anyCubb2, (job) => {
        assert.deepEqual(CUBB2_JOB.decode(CUBB2_JOB.encode(job)), { ok: true, value: { ...job } });
      }),
    );
  });

  test("CBD2 done, its device cut where a character ends", () => {
    const value = fc.record({
      status: u32,
      seq: u64,
      op: u32,
      cudaError: u32,
      n: u64,
      outBytes: u64,
      kernelNs: u64,
      wallNs: u64,
      checksum: fc.double(),
      bad: u64,
      checked: u64,
      device: fc.string({ unit: "binary", maxLength: 40 }),
      flags: u32,
    });
    fc.assert(
      fc.property(value, (done) => {
        const bytes = CBD2_DONE.encode(done);
        const decoded = CBD2_DONE.decode(bytes);
        assert.ok(decoded.ok);
        const { device, ...rest } = decoded.value;
        const { device: given, ...givenRest } = done;
        assert.deepEqual(rest, { ...givenRest });
        assert.ok(given.startsWith(device));
        assert.equal(bytes[119], 0);
        assert.deepEqual(CBD2_DONE.encode(decoded.value), bytes);
      }),
    );
  });

  test("CUBB job", () => {
    const value = fc.record({ seq: u64, op: u32, n: u32, gpaA: u64, gpaB: u64, gpaC: u64 });
    fc.assert(
      fc.property(value, (job) => {
        assert.deepEqual(CUBB_JOB.decode(CUBB_JOB.encode(job)), { ok: true, value: { ...job } });
      }),
    );
  });

  test("CUBD done", () => {
    const rest = { bad: u32, kernelNs: u64, checksum: fc.double() };
    fc.assert(
      fc.property(fc.record({ seq: u64, status: u32, ...rest }), (done) => {
        assert.deepEqual(CUBD_DONE.decode(CUBD_DONE.encode(done)), {
          ok: true,
          value: { ...done },
        });
      }),
    );
  });
});

suite("what does not fit a field is a bug of the caller", () => {
  const { value } = SAMPLE_CUBB2;
  const cases = [
    ["a u32 of 2^32", { op: 2 ** 32 }],
    ["a negative u32", { iters: -1 }],
    ["a fraction", { timeoutMs: 0.5 }],
    ["a NaN", { timeoutMs: Number.NaN }],
    ["a u64 of 2^64", { seq: 1n << 64n }],
    ["a negative u64", { n: -1n }],
  ] as const;
  test("control: the sample itself", () => assert.equal(CUBB2_JOB.encode(value).length, 128));
  for (const [name, change] of cases) {
    test(name, () => {
      assert.throws(() => CUBB2_JOB.encode({ ...value, ...change }), { name: "InvariantError" });
    });
  }
});
