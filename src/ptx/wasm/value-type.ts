/** The value types that a local, a parameter or a result can have, with their binary codes. */
export const VALUE_TYPE = { i32: 0x7f, i64: 0x7e, f32: 0x7d, f64: 0x7c, v128: 0x7b } as const;

export type ValueType = keyof typeof VALUE_TYPE;

/** What a function takes and gives. */
export type FunctionType = {
  readonly parameters: readonly ValueType[];
  readonly results: readonly ValueType[];
};
