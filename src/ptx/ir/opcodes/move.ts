// mov, with its vector forms, cvt and cvta.
import { form, refused, type Builder, type Form } from "../form.ts";
import { isFloatType, widthOf } from "../encode.ts";
import type { InstructionReader } from "../reader.ts";
import type { ConvertRounding, DataType, StateSpace } from "../types.ts";
import { HALVES, INTEGERS } from "./common.ts";

/** mov.b32 {a, b} takes a b32 apart into b16s: the type of one part. */
function partType(reader: InstructionReader, count: number): DataType {
  const type = reader.type();
  const name = `b${String(widthOf(type) / count)}`;
  const isVector = (count === 2 || count === 4) && type.startsWith("b");
  if (isVector && (name === "b8" || name === "b16" || name === "b32")) return name;
  throw reader.invalid(`mov.${type} does not take a vector of ${count} parts`);
}

const move: Builder = (reader) => {
  const type = reader.type();
  reader.expectOperands(2);
  const [target, source] = [reader.operand(0), reader.operand(1)];
  if (target.kind === "vector") {
    const part = partType(reader, target.elements.length);
    const destinations = target.elements.map((node) =>
      reader.destinationOrSink(node, part, "exact"),
    );
    reader.emit({ op: "unpack", type, destinations, source: reader.source(1, type) });
    return;
  }
  const destination = reader.destination(0, type);
  if (source.kind !== "vector") {
    reader.emit({ op: "move", type, destination, source: reader.source(1, type) });
    return;
  }
  const part = partType(reader, source.elements.length);
  const sources = source.elements.map((node) => reader.sourceOf(node, part));
  reader.emit({ op: "pack", type, destination, sources });
};

const CONVERT_ROUNDINGS: Readonly<Record<string, ConvertRounding>> = {
  rn: "rn",
  rz: "rz",
  rm: "rm",
  rp: "rp",
  rni: "rni",
  rzi: "rzi",
  rmi: "rmi",
  rpi: "rpi",
};

/** Which rounding modifiers a conversion must, may or must not have. */
function checkRounding(reader: InstructionReader, to: DataType, from: DataType): void {
  const written = reader.choice("rounding");
  const isInteger = written?.endsWith("i") ?? false;
  const name = `a conversion from .${from} to .${to}`;
  if (!isFloatType(from) && !isFloatType(to)) {
    if (written !== null) throw reader.invalid(`${name} takes no rounding modifier`);
  } else if (isFloatType(from) && !isFloatType(to)) {
    if (!isInteger) throw reader.invalid(`${name} needs .rni, .rzi, .rmi or .rpi`);
  } else if (!isFloatType(from) || widthOf(to) < widthOf(from)) {
    if (written === null || isInteger) {
      throw reader.invalid(`${name} needs .rn, .rz, .rm or .rp`);
    }
  } else if (widthOf(to) > widthOf(from)) {
    if (written !== null) throw reader.invalid(`${name} is exact and takes no rounding modifier`);
  } else if (written !== null && !isInteger) {
    throw reader.invalid(`${name} takes only .rni, .rzi, .rmi or .rpi`);
  }
}

const convert: Builder = (reader) => {
  const [to, from] = [reader.type("to"), reader.type("from")];
  reader.expectOperands(2);
  checkRounding(reader, to, from);
  if (reader.has("ftz") && to !== "f32" && from !== "f32") {
    throw reader.invalid(".ftz needs an .f32 on either side of the conversion");
  }
  reader.emit({
    op: "convert",
    to,
    from,
    rounding: CONVERT_ROUNDINGS[reader.choice("rounding") ?? ""] ?? "none",
    flushSubnormals: reader.has("ftz"),
    saturate: reader.has("sat"),
    destination: reader.destination(0, to, isFloatType(to) ? "exact" : "relaxed"),
    source: reader.source(1, from, "relaxed"),
  });
};

const SPACES: Readonly<Record<string, StateSpace>> = {
  const: "const",
  global: "global",
  local: "local",
  param: "param",
  shared: "shared",
  "shared::cta": "shared",
  "param::entry": "param",
};

const convertAddress: Builder = (reader) => {
  const type = reader.type();
  reader.expectOperands(2);
  const space = SPACES[reader.choice("space") ?? ""] ?? "global";
  const direction = reader.has("to") ? "fromGeneric" : "toGeneric";
  const destination = reader.destination(0, type);
  const source = reader.source(1, type);
  if (source.kind === "address" && source.symbol.space !== space) {
    throw reader.invalid(`'${source.symbol.name}' is in .${source.symbol.space}, not in .${space}`);
  }
  reader.emit({ op: "convertAddress", direction, space, type, destination, source });
};

const CONVERTED = `u8|u16|u32|u64|s8|s16|s32|s64|f16|f32|f64`;
// What PTX has beyond that: the 16-bit, 8-bit and smaller floating-point types.
const SMALL_FLOATS = `${HALVES}|tf32|ue8m0x2|e4m3x2|e5m2x2|e2m1x2|e2m3x2|e3m2x2|e4m3x4|e5m2x4`;
const SMALL_MODIFIERS = "rounding=rn|rz|rm|rp|rna|rs? relu? satfinite? scaled? ftz? sat?";
const ADDRESS_SPACE = "space=const|global|local|shared|param|shared::cta|param::entry";

export const MOVES: readonly Form[] = [
  form(`mov type=pred|b16|b32|b64|${INTEGERS}|f32|f64`, move),
  refused("mov b128"),
  form(
    `cvt rounding=rn|rz|rm|rp|rni|rzi|rmi|rpi? ftz? sat? to=${CONVERTED} from=${CONVERTED}`,
    convert,
  ),
  refused(
    `cvt ${SMALL_MODIFIERS} to=${SMALL_FLOATS}|${CONVERTED} from=${SMALL_FLOATS}|${CONVERTED}`,
  ),
  refused("cvt pack sat? to=u16|s16|u8|s8|u4|s4|u2|s2 from=s32 base=b32?"),
  form(`cvta ${ADDRESS_SPACE} type=u32|u64`, convertAddress),
  form(`cvta to ${ADDRESS_SPACE} type=u32|u64`, convertAddress),
  refused("cvta to? shared::cluster type=u32|u64"),
];
