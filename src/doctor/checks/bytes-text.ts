const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** `16 GiB`, `32.06 GiB`, `512 bytes`: at most two digits behind the point. */
export function bytesText(bytes: bigint | number): string {
  let value = Number(bytes);
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${String(Number(value.toFixed(2)))} ${UNITS[unit] ?? ""}`;
}
