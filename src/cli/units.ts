/** Quantities for people: three significant digits and a unit. */

const scaled = (value: number, units: readonly string[], step: number): string => {
  let left = value;
  let index = 0;
  while (left >= step && index < units.length - 1) {
    left /= step;
    index += 1;
  }
  const digits = index === 0 || left >= 100 ? 0 : left >= 10 ? 1 : 2;
  return `${left.toFixed(digits)} ${units[index] ?? ""}`;
};

/** `41.9 us`. */
export const durationText = (ns: number): string => scaled(ns, ["ns", "us", "ms", "s"], 1000);

/** `4.00 MiB`. */
export const bytesText = (bytes: number): string =>
  scaled(bytes, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);

/** `51.9 GB/s`; bytes a nanosecond are gigabytes a second. */
export const rateText = (bytes: number, ns: number): string =>
  ns > 0 ? scaled((bytes / ns) * 1e9, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], 1000) : "-";
