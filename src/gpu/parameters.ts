/**
 * Parameter blocks: a kernel's arguments as the bytes that a launch hands over, each at the offset
 * that the kernel's signature gives it.
 */
import { err, ok, type Result } from "../base/mod.ts";
import type { DeviceBuffer, GpuKernel, KernelParameter } from "./gpu.ts";

/** Scalar types an argument may have, as PTX spells them. */
export type ScalarType =
  "u8" | "s8" | "u16" | "s16" | "u32" | "s32" | "u64" | "s64" | "f32" | "f64";

/** One argument of a launch: a number, the address of a buffer, or the bytes of a struct. */
export type KernelArgument =
  | { readonly type: ScalarType; readonly value: number | bigint }
  | { readonly buffer: DeviceBuffer; readonly offset?: number }
  | { readonly bytes: Uint8Array };

export type ParameterErrorCode =
  "argument_count" | "argument_type" | "argument_size" | "argument_value";

/** Why arguments do not fit a kernel; the message names the kernel, the argument and both sides. */
export type ParameterError = { readonly code: ParameterErrorCode; readonly message: string };

type Scalar = {
  readonly bytes: number;
  /** Inclusive; null for the floating types, which take every number. */
  readonly range: readonly [least: bigint, greatest: bigint] | null;
};

const unsigned = (bytes: number): Scalar => ({
  bytes,
  range: [0n, 2n ** BigInt(bytes * 8) - 1n],
});

function signed(bytes: number): Scalar {
  const half = 2n ** BigInt(bytes * 8 - 1);
  return { bytes, range: [-half, half - 1n] };
}

const SCALARS: Readonly<Record<ScalarType, Scalar>> = {
  u8: unsigned(1),
  s8: signed(1),
  u16: unsigned(2),
  s16: signed(2),
  u32: unsigned(4),
  s32: signed(4),
  u64: unsigned(8),
  s64: signed(8),
  f32: { bytes: 4, range: null },
  f64: { bytes: 8, range: null },
};

const LITTLE_ENDIAN = true;

const ADDRESS_BYTES = 8;

const refuse = (code: ParameterErrorCode, message: string): Result<never, ParameterError> =>
  err({ code, message });

function describe(argument: KernelArgument): string {
  if ("type" in argument) return `${argument.type} ${String(argument.value)}`;
  if ("buffer" in argument) return "a buffer's address (8 bytes)";
  return `${argument.bytes.length} bytes`;
}

function sizeOf(argument: KernelArgument): number {
  if ("type" in argument) return SCALARS[argument.type].bytes;
  return "buffer" in argument ? ADDRESS_BYTES : argument.bytes.length;
}

/** Untyped parameters (`b32`, `b8` arrays) and raw bytes go with anything of the right size. */
function isSameKind(argument: KernelArgument, parameter: KernelParameter): boolean {
  if ("bytes" in argument || parameter.type.startsWith("b")) return true;
  const isFloat = "type" in argument && argument.type.startsWith("f");
  return isFloat === parameter.type.startsWith("f");
}

function isInRange(argument: KernelArgument): boolean {
  if (!("type" in argument)) return true;
  const { range } = SCALARS[argument.type];
  if (range === null) return true;
  if (typeof argument.value === "number" && !Number.isSafeInteger(argument.value)) return false;
  const value = BigInt(argument.value);
  return value >= range[0] && value <= range[1];
}

function write(view: DataView, offset: number, argument: KernelArgument): void {
  if ("type" in argument) {
    writeScalar(view, offset, argument);
  } else if ("buffer" in argument) {
    const address = argument.buffer.address + BigInt(argument.offset ?? 0);
    view.setBigUint64(offset, address, LITTLE_ENDIAN);
  } else {
    new Uint8Array(view.buffer, offset, argument.bytes.length).set(argument.bytes);
  }
}

type ScalarArgument = Extract<KernelArgument, { readonly type: ScalarType }>;

/** Unsigned writes do for signed values too: they wrap, and the range was checked before. */
function writeScalar(view: DataView, offset: number, { type, value }: ScalarArgument): void {
  const number = Number(value);
  if (type === "f32") view.setFloat32(offset, number, LITTLE_ENDIAN);
  else if (type === "f64") view.setFloat64(offset, number, LITTLE_ENDIAN);
  else if (type === "u64" || type === "s64") {
    view.setBigUint64(offset, BigInt.asUintN(64, BigInt(value)), LITTLE_ENDIAN);
  } else if (type === "u32" || type === "s32") view.setUint32(offset, number, LITTLE_ENDIAN);
  else if (type === "u16" || type === "s16") view.setUint16(offset, number, LITTLE_ENDIAN);
  else view.setUint8(offset, number);
}

/**
 * Lays `args` out as `kernel` expects them. Fails when their number, a size, a kind (integer
 * where a float is declared, or the reverse) or a value does not fit; nothing is narrowed or
 * rounded, except an f32's value to the nearest float.
 *
 * The block is an ArrayBuffer of its own: a small typed array would lie on the JavaScript heap,
 * where a collection moves it while a driver still holds its address (seen as CUDA error 716).
 */
export function packParameters(
  kernel: GpuKernel,
  args: readonly KernelArgument[],
): Result<Uint8Array, ParameterError> {
  const { name, parameters } = kernel;
  if (args.length !== parameters.length) {
    const types = parameters.map((parameter) => parameter.type).join(", ");
    return refuse(
      "argument_count",
      `${name} takes ${parameters.length} arguments (${types}), but ${args.length} were given`,
    );
  }
  const view = new DataView(new ArrayBuffer(kernel.parameterBytes));
  for (const [index, parameter] of parameters.entries()) {
    const argument = args[index];
    if (argument === undefined) break;
    const error = checkArgument(argument, parameter, `argument ${index + 1} of ${name}`);
    if (error !== null) return err(error);
    write(view, parameter.offset, argument);
  }
  return ok(new Uint8Array(view.buffer));
}

function checkArgument(
  argument: KernelArgument,
  parameter: KernelParameter,
  what: string,
): ParameterError | null {
  const given = describe(argument);
  const bytes = sizeOf(argument);
  const wanted = `.${parameter.type} (${parameter.bytes} bytes)`;
  if (bytes !== parameter.bytes) {
    const message = `${what} is declared ${wanted}, but given ${given}, which is ${bytes} bytes`;
    return { code: "argument_size", message };
  }
  if (!isSameKind(argument, parameter)) {
    return { code: "argument_type", message: `${what} is declared ${wanted}, but given ${given}` };
  }
  if (!isInRange(argument)) {
    return { code: "argument_value", message: `${what}: ${given} is out of range for its type` };
  }
  return null;
}
