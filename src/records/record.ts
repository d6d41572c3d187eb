/**
 * One declaration makes a record: the type of its value, its size and offsets, encode and decode,
 * and, elsewhere, the C struct and the table of the documents.
 */
import { err, invariant, ok, type Result } from "../base/mod.ts";
import { crc32c } from "./crc32c.ts";
import { bytesAt, type Field, type FixedField, type FixedRole, type ValueField } from "./field.ts";

export type FieldTable = Readonly<Record<string, Field>>;

/** The fields that are not the same in every record, as a plain object. */
export type RecordValue<Fields extends FieldTable> = {
  readonly [
    Name in keyof Fields as Fields[Name]["role"] extends "value" ? Name : never
  ]: Fields[Name] extends ValueField<infer Value> ? Value : never;
};

export type RecordFaultCode =
  /** Fewer bytes than the record has. */
  | "short"
  /** It does not begin as this record does. */
  | "bad_magic"
  /** The checksum does not match, so that no field can be trusted. */
  | "bad_crc"
  | "bad_version"
  | "bad_record_bytes"
  /** A reserved byte that is not zero. */
  | "bad_reserved";

/** Why bytes are not this record. */
export type RecordFault = {
  readonly code: RecordFaultCode;
  /** One line: what is wrong, and the mend. */
  readonly message: string;
  /** The record's sequence number where it has one that can be trusted; else null. */
  readonly seq: bigint | null;
};

/** A beginning that tells which other thing the bytes are. */
export type Lookalike = {
  /** In place of the magic, and NUL up to its size. */
  readonly prefix: Uint8Array;
  readonly message: string;
};

export type RecordDeclaration<Fields extends FieldTable> = {
  /** What messages and documents call it, e.g. `CUBB2 job`. */
  readonly title: string;
  /** The C struct; its macros begin with the same in capitals. */
  readonly cName: string;
  /** What it is for, in one sentence; for the documents and the header. */
  readonly purpose: string;
  /** The size as the protocol states it; what the fields add up to must be the same. */
  readonly bytes: number;
  /** In the order of their offsets. Names in camelCase; C's are the same in snake_case. */
  readonly fields: Fields;
  readonly lookalikes?: readonly Lookalike[];
};

export type RecordType<Fields extends FieldTable> = RecordDeclaration<Fields> & {
  readonly offsets: { readonly [Name in keyof Fields]: number };
  /** Fills the fixed fields and the checksum by itself. A value that does not fit is a bug. */
  readonly encode: (value: RecordValue<Fields>) => Uint8Array;
  /** Takes any bytes; those past the record's end are not looked at. Never throws. */
  readonly decode: (bytes: Uint8Array) => Result<RecordValue<Fields>, RecordFault>;
};

/** The value that a record's decode gives. */
export type ValueOf<Declared> = Declared extends { readonly encode: (value: infer V) => unknown }
  ? V
  : never;

type AnyValue = Record<string, unknown>;

/** Makes a record of its table. What is wrong in the table is a bug, found at start. */
export function declareRecord<const Fields extends FieldTable>(
  declaration: RecordDeclaration<Fields>,
): RecordType<Fields> {
  const { title, bytes, fields } = declaration;
  const placed = placeFields(title, fields);
  const end = placed.reduce((sum, { field }) => sum + field.bytes, 0);
  invariant(end === bytes, `${title} has ${String(bytes)} bytes; its fields, ${String(end)}`);
  const widest = Math.max(...placed.map(({ field }) => field.alignment));
  invariant(bytes % widest === 0, `${title} ends where no compiler pads`);
  const layout = { declaration, placed };
  return {
    ...declaration,
    offsets: Object.fromEntries(placed.map(({ name, offset }) => [name, offset])) as {
      [Name in keyof Fields]: number;
    },
    encode: (value) => encodeRecord(layout, value),
    decode: (given) => decodeRecord(layout, given) as Result<RecordValue<Fields>, RecordFault>,
  };
}

type PlacedField = { readonly name: string; readonly offset: number; readonly field: Field };

type Layout = {
  readonly declaration: RecordDeclaration<FieldTable>;
  readonly placed: readonly PlacedField[];
};

function placeFields(title: string, fields: FieldTable): PlacedField[] {
  let offset = 0;
  return Object.entries(fields).map(([name, field]) => {
    const { bytes, alignment } = field;
    invariant(offset % alignment === 0, `${title}.${name} lies where no compiler pads before it`);
    const placed = { name, offset, field };
    offset += bytes;
    return placed;
  });
}

function encodeRecord({ declaration, placed }: Layout, value: AnyValue): Uint8Array {
  const record = new Uint8Array(declaration.bytes);
  const view = new DataView(record.buffer);
  for (const { name, offset, field } of placed) {
    if (field.role === "value") field.write(view, offset, value[name] as never);
    else if (field.role === "crc32c") {
      view.setUint32(offset, crc32c(record.subarray(0, offset)), true);
    } else record.set(field.content, offset);
  }
  return record;
}

function decodeRecord(layout: Layout, given: Uint8Array): Result<AnyValue, RecordFault> {
  const { title, bytes } = layout.declaration;
  if (given.length < bytes) {
    const message =
      `a ${title} record has ${String(bytes)} bytes and these are ${String(given.length)}: ` +
      "write the whole record in one go";
    return err({ code: "short", message, seq: null });
  }
  const view = new DataView(given.buffer, given.byteOffset, bytes);
  const untrusted = findMagicFault(layout, view) ?? findSealFault(layout, view);
  if (untrusted !== null) return err({ ...untrusted, seq: null });

  const value: AnyValue = {};
  for (const { name, offset, field } of layout.placed) {
    if (field.role === "value") value[name] = field.read(view, offset);
  }
  const fault = findFixedFault(layout, view);
  const seq = typeof value["seq"] === "bigint" ? value["seq"] : null;
  return fault === null ? ok(value) : err({ ...fault, seq });
}

type Fault = Omit<RecordFault, "seq">;

function findMagicFault({ declaration, placed }: Layout, view: DataView): Fault | null {
  const { title, lookalikes = [] } = declaration;
  for (const { offset, field } of placed) {
    if (field.role !== "magic") continue;
    for (const { prefix, message } of lookalikes) {
      if (isEqual(bytesAt(view, offset, prefix.length), prefix)) {
        return { code: "bad_magic", message };
      }
    }
    const found = bytesAt(view, offset, field.bytes);
    if (!isEqual(found, field.content)) {
      const message =
        `a ${title} record begins with the bytes ${hex(field.content)}, ` +
        `not with ${hex(found)}`;
      return { code: "bad_magic", message };
    }
  }
  return null;
}

function findSealFault({ declaration, placed }: Layout, view: DataView): Fault | null {
  for (const { offset, field } of placed) {
    if (field.role !== "crc32c") continue;
    const [stated, found] = [view.getUint32(offset, true), crc32c(bytesAt(view, 0, offset))];
    if (stated === found) continue;
    const message =
      `the ${declaration.title} record's crc32c is ${hexNumber(stated)} and that of its bytes ` +
      `0..${String(offset - 1)} is ${hexNumber(found)}: compute it last, write the record whole`;
    return { code: "bad_crc", message };
  }
  return null;
}

const FIXED_FAULTS: readonly (readonly [FixedRole, RecordFaultCode])[] = [
  ["version", "bad_version"],
  ["record_bytes", "bad_record_bytes"],
  ["reserved", "bad_reserved"],
];

function findFixedFault({ declaration, placed }: Layout, view: DataView): Fault | null {
  for (const [role, code] of FIXED_FAULTS) {
    for (const { name, offset, field } of placed) {
      if (field.role !== role || isFixed(field, view, offset)) continue;
      const [found, wanted] = [bytesAt(view, offset, field.bytes), field.content];
      const message =
        role === "reserved"
          ? `the ${declaration.title} record's reserved bytes from offset ${String(offset)} on ` +
            "are not all zero: clear the whole record before it is filled"
          : `the ${declaration.title} record's ${snakeCase(name)} is ` +
            `${String(littleEndian(found))}: it must be ${String(littleEndian(wanted))}`;
      return { code, message };
    }
  }
  return null;
}

const isFixed = (field: FixedField, view: DataView, offset: number): boolean =>
  isEqual(bytesAt(view, offset, field.bytes), field.content);

const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, index) => byte === other[index]);

const littleEndian = (found: Uint8Array): number =>
  found.reduceRight((sum, byte) => sum * 256 + byte, 0);

const hex = (found: Uint8Array): string =>
  Array.from(found, (byte) => byte.toString(16).padStart(2, "0")).join(" ");

const hexNumber = (value: number): string => `0x${value.toString(16).padStart(8, "0")}`;

/** `timeoutMs` as C and the documents write it: `timeout_ms`. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
