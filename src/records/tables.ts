/** The numbers of the protocol and their names. Frozen: what has a number keeps it. */

/** Of both job records. */
export const OPERATION = {
  mail: 1,
  vadd: 2,
  vadd_mutated: 3,
  slow_add: 4,
  launch: 256,
} as const;

export type OperationName = keyof typeof OPERATION;

/** Of both done records. */
export const STATUS = {
  ok: 0,
  bad_version: 1,
  bad_size: 2,
  unknown_op: 3,
  bad_flags: 4,
  out_of_bounds: 5,
  misaligned: 6,
  too_large: 7,
  no_device: 8,
  device_error: 9,
  timeout: 10,
  verify_failed: 11,
  io_error: 12,
  unknown_kernel: 13,
  bad_descriptor: 14,
  internal: 15,
} as const;

export type StatusName = keyof typeof STATUS;

/** Bits of `flags` in CUBB2; in CBD2 the two of verification say what was done. */
export const JOB_FLAG = {
  seq_reset: 1,
  verify_full: 2,
  verify_none: 4,
} as const;

export type JobFlagName = keyof typeof JOB_FLAG;

/** `kind` of a launch argument. */
export const ARGUMENT_KIND = {
  scalar: 1,
  in: 2,
  out: 3,
  inout: 4,
  alias: 5,
  bytes: 6,
} as const;

export type ArgumentKind = keyof typeof ARGUMENT_KIND;

/** `type` of a launch argument. */
export const ARGUMENT_TYPE = {
  u8: 1,
  s8: 2,
  u16: 3,
  s16: 4,
  u32: 5,
  s32: 6,
  u64: 7,
  s64: 8,
  f32: 9,
  f64: 10,
} as const;

export type ArgumentType = keyof typeof ARGUMENT_TYPE;

const nameIn = <Name extends string>(
  table: Readonly<Record<Name, number>>,
  value: number,
): Name | null => {
  const found = Object.entries(table).find(([, number]) => number === value);
  return found === undefined ? null : (found[0] as Name);
};

/** The status's name; `status_N` for a number that has none. */
export const statusName = (status: number): string => nameIn(STATUS, status) ?? `status_${status}`;

/** The operation's name; null for a number that is no operation. */
export const operationName = (operation: number): OperationName | null =>
  nameIn(OPERATION, operation);

/** The kind's name; null for a number that is none. */
export const argumentKind = (kind: number): ArgumentKind | null => nameIn(ARGUMENT_KIND, kind);

/** The type's name; null for a number that is none. */
export const argumentType = (type: number): ArgumentType | null => nameIn(ARGUMENT_TYPE, type);

/** Bytes of one element of a type. */
export const ARGUMENT_TYPE_BYTES: Readonly<Record<ArgumentType, number>> = {
  u8: 1,
  s8: 1,
  u16: 2,
  s16: 2,
  u32: 4,
  s32: 4,
  u64: 8,
  s64: 8,
  f32: 4,
  f64: 8,
};
