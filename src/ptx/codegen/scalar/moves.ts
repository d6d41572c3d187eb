/** Instructions that move bits: mov, its packing forms, selp and cvta. */
import { DATA_TYPE_BYTES, type DataType, type Operation } from "../../ir/types.ts";
import { widthOf, type Emitter } from "./emitter.ts";

type Of<Op extends Operation["op"]> = Extract<Operation, { op: Op }>;

/**
 * A type of the same width that the destination holds as it is, so that nothing is reinterpreted.
 */
export function bitsLike(emitter: Emitter, id: number, type: DataType): DataType {
  const { local } = emitter.storageOf(id);
  if (DATA_TYPE_BYTES[type] === 4) return local === "f32" ? "f32" : "b32";
  if (DATA_TYPE_BYTES[type] === 8) return local === "f64" ? "f64" : "b64";
  return type;
}

export function emitMove(emitter: Emitter, { type, destination, source }: Of<"move">): void {
  const bits = bitsLike(emitter, destination, type);
  const { isLax } = emitter.storageOf(destination);
  emitter.read(source, bits, isLax ? "value" : "bits");
  emitter.write(destination, bits);
}

export function emitSelect(emitter: Emitter, operation: Of<"select">): void {
  const { destination } = operation;
  const bits = bitsLike(emitter, destination, operation.type);
  const use = emitter.storageOf(destination).isLax ? "value" : "bits";
  emitter.read(operation.onTrue, bits, use);
  emitter.read(operation.onFalse, bits, use);
  emitter.predicate(operation.predicate).op("select");
  emitter.write(destination, bits);
}

export function emitConvertAddress(emitter: Emitter, operation: Of<"convertAddress">): void {
  // Every address is an offset into the one memory, in whichever space.
  emitter.read(operation.source, operation.type);
  emitter.write(operation.destination, operation.type);
}

/** The unsigned type of a width. */
const PIECE: Readonly<Record<number, DataType>> = { 8: "b8", 16: "b16", 32: "b32", 64: "b64" };

export function emitPack(emitter: Emitter, { type, destination, sources }: Of<"pack">): void {
  const { code } = emitter;
  const width = widthOf(type) / sources.length;
  const piece = PIECE[width] ?? "b32";
  const whole = widthOf(type) === 64 ? "i64" : "i32";
  sources.forEach((source, index) => {
    emitter.read(source, piece);
    if (whole === "i64") code.op("i64.extend_i32_u");
    if (index === 0) return;
    if (whole === "i64") code.i64(index * width);
    else code.i32(index * width);
    code.ops(`${whole}.shl`, `${whole}.or`);
  });
  emitter.write(destination, PIECE[widthOf(type)] ?? "b32");
}

export function emitUnpack(emitter: Emitter, { type, destinations, source }: Of<"unpack">): void {
  const { code } = emitter;
  const width = widthOf(type) / destinations.length;
  const piece = PIECE[width] ?? "b32";
  const whole = widthOf(type) === 64 ? "i64" : "i32";
  emitter.read(source, PIECE[widthOf(type)] ?? "b32");
  const local = emitter.spill(whole);
  destinations.forEach((destination, index) => {
    if (destination === null) return;
    code.get(local);
    if (whole === "i64") code.i64(index * width).ops("i64.shr_u", "i32.wrap_i64");
    else code.i32(index * width).op("i32.shr_u");
    if (width < 32) emitter.extend(piece);
    emitter.write(destination, piece);
  });
}
