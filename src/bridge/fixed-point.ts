/** Numbers as C's printf writes them, since others parse our lines. */

const MANTISSA_BITS = 52n;
const EXPONENT_BIAS = 1075n;
const DECIMALS = 6;
const SCALE = 10n ** BigInt(DECIMALS);

/**
 * What C's `%.6f` gives: never an exponent, ties to the even digit, `nan`, `inf` and `-inf`. JS's
 * toFixed writes an exponent from 1e21 on and rounds ties up.
 *
 * @example fixedPoint(392344090.5) === "392344090.500000"
 */
export function fixedPoint(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (value === Infinity) return "inf";
  if (value === -Infinity) return "-inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const digits = millionths(Math.abs(value))
    .toString()
    .padStart(DECIMALS + 1, "0");
  return `${sign}${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`;
}

/** The value times 10^6, rounded to the nearest whole number, exactly: a double is m * 2^e. */
function millionths(value: number): bigint {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const field = bits >> MANTISSA_BITS;
  const fraction = bits & ((1n << MANTISSA_BITS) - 1n);
  const mantissa = field === 0n ? fraction : fraction | (1n << MANTISSA_BITS);
  const exponent = (field === 0n ? 1n : field) - EXPONENT_BIAS;
  const scaled = mantissa * SCALE;
  if (exponent >= 0n) return scaled << exponent;
  const whole = scaled >> -exponent;
  const twiceRest = (scaled - (whole << -exponent)) << 1n;
  const one = 1n << -exponent;
  const isUp = twiceRest > one || (twiceRest === one && (whole & 1n) === 1n);
  return isUp ? whole + 1n : whole;
}
