/**
 * The fields that a record can have. Everything is little-endian; a field knows its size, how it
 * is read and written, and how C and the documents call it.
 */
import { invariant } from "../base/mod.ts";

/** What the C header calls a field's type; an array of `count` where that is not null. */
export type CType = {
  readonly name: "uint8_t" | "uint16_t" | "uint32_t" | "uint64_t" | "hf_f64";
  readonly count: number | null;
};

type FieldBase = {
  /** What the documents call its type, e.g. `u32[3]`. */
  readonly type: string;
  readonly c: CType;
  readonly bytes: number;
  /** Its offset is a multiple of this, so that no compiler pads before it. */
  readonly alignment: number;
  /** What it means, for the documents and the header: one line of Markdown. */
  readonly meaning: string;
};

/** A field that holds a part of the record's value. */
export type ValueField<Value> = FieldBase & {
  readonly role: "value";
  readonly read: (view: DataView, offset: number) => Value;
  /** A value that does not fit is a bug of the caller. */
  readonly write: (view: DataView, offset: number, value: Value) => void;
};

/** Why a fixed field is there, and by that the name of the fault where it is wrong. */
export type FixedRole = "magic" | "version" | "record_bytes" | "reserved";

/** A field whose bytes are the same in every record of its kind. */
export type FixedField = FieldBase & { readonly role: FixedRole; readonly content: Uint8Array };

/** CRC-32C of all bytes before it; the last field of a record. */
export type SealField = FieldBase & { readonly role: "crc32c" };

/** A field of whatever value: what is written to it comes from the type of its own table. */
type AnyValueField = FieldBase & {
  readonly role: "value";
  readonly read: (view: DataView, offset: number) => unknown;
  readonly write: (view: DataView, offset: number, value: never) => void;
};

export type Field = AnyValueField | FixedField | SealField;

const U16_MAX = 0xffff;
const U32_MAX = 0xffff_ffff;
const U64_MAX = 0xffff_ffff_ffff_ffffn;

/** The bytes of every NaN that is written, since which NaN a number holds cannot be told in JS. */
const NAN_BITS = 0x7ff8_0000_0000_0000n;

function checkWhole(value: number, max: number): void {
  const fits = Number.isInteger(value) && value >= 0 && value <= max;
  invariant(fits, `${String(value)} is a whole number from 0 to ${String(max)}`);
}

function writeU32(view: DataView, offset: number, value: number): void {
  checkWhole(value, U32_MAX);
  view.setUint32(offset, value, true);
}

const plain = (name: CType["name"]): CType => ({ name, count: null });
const byteArray = (count: number): CType => ({ name: "uint8_t", count });

export const u32 = (meaning: string): ValueField<number> => ({
  role: "value",
  type: "u32",
  c: plain("uint32_t"),
  bytes: 4,
  alignment: 4,
  meaning,
  read: (view, offset) => view.getUint32(offset, true),
  write: writeU32,
});

/** Three u32, e.g. a grid. */
export const u32x3 = (meaning: string): ValueField<readonly [number, number, number]> => ({
  role: "value",
  type: "u32[3]",
  bytes: 12,
  alignment: 4,
  meaning,
  c: { name: "uint32_t", count: 3 },
  read: (view, offset) => [
    view.getUint32(offset, true),
    view.getUint32(offset + 4, true),
    view.getUint32(offset + 8, true),
  ],
  write: (view, offset, value) => {
    value.forEach((part, index) => writeU32(view, offset + 4 * index, part));
  },
});

export const u64 = (meaning: string): ValueField<bigint> => ({
  role: "value",
  type: "u64",
  c: plain("uint64_t"),
  bytes: 8,
  alignment: 8,
  meaning,
  read: (view, offset) => view.getBigUint64(offset, true),
  write: (view, offset, value) => {
    invariant(value >= 0n && value <= U64_MAX, `${String(value)} fits in a u64`);
    view.setBigUint64(offset, value, true);
  },
});

export const f64 = (meaning: string): ValueField<number> => ({
  role: "value",
  type: "f64",
  c: plain("hf_f64"),
  bytes: 8,
  alignment: 8,
  meaning,
  read: (view, offset) => view.getFloat64(offset, true),
  write: (view, offset, value) => {
    if (Number.isNaN(value)) view.setBigUint64(offset, NAN_BITS, true);
    else view.setFloat64(offset, value, true);
  },
});

/** Exactly `count` bytes as they are. */
export const bytes = (count: number, meaning: string): ValueField<Uint8Array> => ({
  role: "value",
  type: `u8[${String(count)}]`,
  c: byteArray(count),
  bytes: count,
  alignment: 1,
  meaning,
  read: (view, offset) => bytesAt(view, offset, count).slice(),
  write: (view, offset, value) => {
    invariant(value.length === count, `${String(count)} bytes are given, not ${value.length}`);
    bytesAt(view, offset, count).set(value);
  },
});

/**
 * UTF-8 text up to its first NUL. Text that is too long is cut where a character ends, so that at
 * least one NUL remains; reading takes what there is, U+FFFD for what is no UTF-8.
 */
export const text = (count: number, meaning: string): ValueField<string> => ({
  role: "value",
  type: `u8[${String(count)}]`,
  c: byteArray(count),
  bytes: count,
  alignment: 1,
  meaning,
  read: (view, offset) => {
    const whole = bytesAt(view, offset, count);
    const end = whole.indexOf(0);
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      end < 0 ? whole : whole.subarray(0, end),
    );
  },
  write: (view, offset, value) => {
    const [untilNul = ""] = value.split("\0", 1);
    const target = bytesAt(view, offset, count).fill(0);
    // encodeInto stops before a character that does not fit whole.
    new TextEncoder().encodeInto(untilNul, target.subarray(0, count - 1));
  },
});

/** The bytes that say what a record is: the characters, then NUL up to `count` bytes. */
export const magic = (characters: string, count: number): FixedField => ({
  role: "magic",
  type: `u8[${String(count)}]`,
  c: byteArray(count),
  bytes: count,
  alignment: 1,
  content: padded(characters, count),
  meaning: magicMeaning(characters, count),
});

/** The same, for records whose magic is one u32: the characters in the order of its bytes. */
export const magicU32 = (characters: string): FixedField => ({
  role: "magic",
  type: "u32",
  c: plain("uint32_t"),
  bytes: 4,
  alignment: 4,
  content: padded(characters, 4),
  meaning: magicMeaning(characters, 4),
});

/** A number that is the same in every record of its kind. */
export function fixedU16(role: FixedRole, value: number, meaning: string): FixedField {
  checkWhole(value, U16_MAX);
  const content = Uint8Array.of(value & 0xff, value >> 8);
  const c = plain("uint16_t");
  return { role, type: "u16", c, bytes: 2, alignment: 2, content, meaning };
}

/** As `fixedU16`, in four bytes. */
export function fixedU32(role: FixedRole, value: number, meaning: string): FixedField {
  const content = new Uint8Array(4);
  writeU32(new DataView(content.buffer), 0, value);
  return { role, type: "u32", c: plain("uint32_t"), bytes: 4, alignment: 4, content, meaning };
}

/** Bytes that must be zero. */
export const reserved = (count: number): FixedField => ({
  role: "reserved",
  type: `u8[${String(count)}]`,
  c: byteArray(count),
  bytes: count,
  alignment: 1,
  content: new Uint8Array(count),
  meaning: "zero",
});

/** CRC-32C (Castagnoli) of the `count` bytes before it. */
export const seal = (count: number): SealField => ({
  role: "crc32c",
  type: "u32",
  c: plain("uint32_t"),
  bytes: 4,
  alignment: 4,
  meaning: `CRC-32C (Castagnoli) of bytes 0..${String(count - 1)}`,
});

/** `count` bytes of what the view shows, not copied. */
export const bytesAt = (view: DataView, offset: number, count: number): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset + offset, count);

function padded(characters: string, count: number): Uint8Array {
  const content = new Uint8Array(count);
  content.set(new TextEncoder().encode(characters));
  return content;
}

function magicMeaning(characters: string, count: number): string {
  const nuls = count - characters.length;
  const number = ["", " and one NUL", " and two NUL", " and three NUL", " and four NUL"][nuls];
  return `\`${characters}\`${number ?? ` and ${String(nuls)} NUL`}`;
}
