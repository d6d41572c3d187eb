/** A value, or the reason there is none. For bad input; a bug dies by `invariant` instead. */
export type Result<T, E> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E };

/** Wraps a value. */
export const ok = <T>(value: T): Result<T, never> => ({ ok: true, value });

/** Wraps the reason for which there is no value. */
export const err = <E>(error: E): Result<never, E> => ({ ok: false, error });
