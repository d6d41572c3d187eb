import { err, ok, type Result } from "../base/mod.ts";

/** The largest size, in bytes or elements: above any GPU's memory, and small enough to be exact. */
export const SIZE_MAX = 2 ** 40;

const UNITS: Readonly<Record<string, number>> = { "": 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30 };

/** `4096`, `4Ki`, `1Mi` or `2Gi`, from 1 to SIZE_MAX. The error is what is wrong, in words. */
export function parseSize(text: string): Result<number, string> {
  const [, digits, unit = ""] = /^([0-9]+)(Ki|Mi|Gi)?$/.exec(text) ?? [];
  if (digits === undefined) return err(`'${text}' is no size; write e.g. 4096, 4Ki, 1Mi or 2Gi`);
  const size = Number(digits) * (UNITS[unit] ?? 1);
  if (size === 0) return err(`'${text}' is too small (at least 1)`);
  if (size > SIZE_MAX) return err(`'${text}' is too large (at most 1024Gi)`);
  return ok(size);
}

/** A whole number in a range, for flags. */
export function parseWhole(text: string, minimum: number, maximum: number): Result<number, string> {
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= minimum && value <= maximum) return ok(value);
  return err(`'${text}' is no whole number from ${minimum} to ${maximum}`);
}
