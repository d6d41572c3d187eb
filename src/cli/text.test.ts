// The small pure pieces of the commands' output and input.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ScalarType } from "../owner/mod.ts";
import { previewValues } from "./preview.ts";
import { parseSize, parseWhole } from "./size.ts";
import { stateDirectoryOf } from "./surroundings.ts";
import { tableText } from "./table.ts";
import { bytesText, durationText, rateText } from "./units.ts";

const SIZES: readonly [text: string, size: number | null][] = [
  ["1", 1],
  ["4096", 4096],
  ["4Ki", 4096],
  ["1Mi", 2 ** 20],
  ["2Gi", 2 ** 31],
  ["1024Gi", 2 ** 40],
  ["1025Gi", null],
  ["0", null],
  ["0Ki", null],
  ["", null],
  ["Ki", null],
  ["-1", null],
  ["1.5Ki", null],
  ["4ki", null],
  ["4 Ki", null],
  ["1e3", null],
  ["0x10", null],
  ["9".repeat(400), null],
];

for (const [text, size] of SIZES) {
  test(`size ${JSON.stringify(text.slice(0, 20))}`, () => {
    const parsed = parseSize(text);
    assert.equal(parsed.ok ? parsed.value : null, size);
  });
}

test("whole numbers have both their bounds", () => {
  for (const [text, isGood] of [
    ...([
      ["1", true],
      ["32", true],
      ["0", false],
      ["33", false],
      ["1x", false],
    ] as const),
    ...([
      ["", false],
      ["-1", false],
      ["1.0", false],
    ] as const),
  ] as const) {
    assert.equal(parseWhole(text, 1, 32).ok, isGood, text);
  }
});

const PREVIEWS: readonly [type: ScalarType | null, bytes: number[], values: string[]][] = [
  ["u32", [1, 0, 0, 0, 255, 255, 255, 255], ["1", "4294967295"]],
  ["s32", [255, 255, 255, 255], ["-1"]],
  ["u64", [0, 0, 0, 0, 0, 0, 0, 128], ["9223372036854775808"]],
  ["s64", [0, 0, 0, 0, 0, 0, 0, 128], ["-9223372036854775808"]],
  ["f32", [0xcd, 0xcc, 0xcc, 0x3d, 0, 0, 0xc0, 0x7f, 0, 0, 0x80, 0xff], ["0.1", "nan", "-inf"]],
  ["f32", [0, 0, 0, 0x80, 0xff, 0xff, 0x7f, 0x7f], ["-0", "3.4028235e+38"]],
  ["f64", [0, 0, 0, 0, 0, 0, 0xf8, 0x3f], ["1.5"]],
  [null, [0, 171], ["00", "ab"]],
  ["u32", [1, 0, 0], []],
];

for (const [type, bytes, values] of PREVIEWS) {
  test(`preview of ${String(type)} ${values.join(" ")}`, () => {
    assert.deepEqual(previewValues(Uint8Array.from(bytes), type), values);
  });
}

test("a preview ends after eight values", () => {
  assert.equal(previewValues(new Uint8Array(64), "u32").length, 8);
  assert.equal(previewValues(new Uint8Array(64), null).length, 8);
});

test("a preview reads a view that begins anywhere", () => {
  const bytes = new Uint8Array([9, 1, 0, 0, 0]).subarray(1);
  assert.deepEqual(previewValues(bytes, "u32"), ["1"]);
});

test("quantities have three digits and a unit", () => {
  assert.deepEqual([0, 999, 1000, 41_919, 12_345_678, 3e9, 1e13].map(durationText), [
    "0 ns",
    "999 ns",
    "1.00 us",
    "41.9 us",
    "12.3 ms",
    "3.00 s",
    "10000 s",
  ]);
  assert.deepEqual([0, 1023, 1024, 2 ** 22, 2 ** 40].map(bytesText), [
    "0 B",
    "1023 B",
    "1.00 KiB",
    "4.00 MiB",
    "1.00 TiB",
  ]);
  assert.equal(rateText(51.9e9, 1e9), "51.9 GB/s");
  assert.equal(rateText(1, 0), "-");
});

test("a table is aligned and has no trailing blanks", () => {
  assert.equal(
    tableText(
      ["die", "name"],
      [
        ["0", "a"],
        ["10", ""],
      ],
    ),
    "die  name\n0    a\n10\n",
  );
  assert.equal(tableText(["die"], []), "die\n");
});

test("state lies where the XDG base directory specification says", () => {
  const table: readonly [Record<string, string>, string][] = [
    [{ XDG_STATE_HOME: "/x", HOME: "/h" }, "/x/holdfast"],
    [{ XDG_STATE_HOME: "relative", HOME: "/h" }, "/h/.local/state/holdfast"],
    [{ XDG_STATE_HOME: "", HOME: "/h" }, "/h/.local/state/holdfast"],
    [{ HOME: "/h" }, "/h/.local/state/holdfast"],
    [{}, "/var/lib/holdfast"],
  ];
  for (const [environment, expected] of table) {
    assert.equal(stateDirectoryOf(environment), expected);
  }
});
