// Xid lines as drivers write them: forms from NVIDIA's published sources and from posted logs.
import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import type { BoardDie } from "./board.ts";
import { boardEventOf, TEXT_CHARACTERS_MAX, XidScanner } from "./xid.ts";
import { mendOf, XIDS, xidOf } from "./xid-catalogue.ts";

const DIES: readonly BoardDie[] = [5, 6].map((bus, die) => ({
  die,
  address: `0000:0${String(bus)}:00.0`,
  name: "GK210",
}));

const eventsOf = (...pieces: readonly string[]): readonly string[] => {
  const scanner = new XidScanner();
  return pieces
    .flatMap((piece) => scanner.push(piece))
    .map((sighting) => boardEventOf(sighting, DIES))
    .map((event) =>
      event === null ? "other" : `${String(event.die)} ${event.kind} ${String(event.xid)}`,
    );
};

const UUID = "GPU-b850f46d-d5ea-c752-ddf3-c4453e44d3f7";

const CASES: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ["R304", ["NVRM: Xid (0000:05:00): 13, 0003 00000000 00008297 00001098"], ["0 xid 13"]],
  ["R384", ["NVRM: Xid (PCI:0000:06:00): 62, 0096(1c54) 00000000 00000000"], ["1 xid 62"]],
  [
    "R470",
    ["NVRM: Xid (PCI:0000:05:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off."],
    ["0 xid 79"],
  ],
  ["R550", ["NVRM: Xid (PCI:0000:06:00): 31, pid=77, name=a, Ch 0000000b, intr 1"], ["1 xid 31"]],
  ["MIG", ["NVRM: Xid (PCI:0000:05:00 GPU-I:02 GPU-CI:00): 94, pid=1, name=a, x"], ["0 xid 94"]],
  ["a function, a long domain", ["NVRM: Xid (PCI:00000000:05:00.0): 48, DBE"], ["0 xid 48"]],
  ["upper case", ["NVRM: Xid (PCI:0000:05:00): 63, ROW"], ["0 xid 63"]],
  ["no comma", ["NVRM: Xid (PCI:0000:05:00): 119"], ["0 xid 119"]],
  [
    "syslog's prefix",
    ["Feb 14 05:03:42 host kernel: [12.3] NVRM: Xid (0000:05:00): 8, Ch 20"],
    ["0 xid 8"],
  ],
  [
    "two on a line",
    ["NVRM: Xid (PCI:0000:05:00): 13, a NVRM: Xid (PCI:0000:06:00): 45, Ch 8"],
    ["0 xid 13", "1 xid 45"],
  ],
  [
    "two in a record",
    ["NVRM: Xid (0000:05:00): 13, a\nNVRM: Xid (0000:05:00): 45, b"],
    ["0 xid 13", "0 xid 45"],
  ],
  [
    "split after the head",
    ["NVRM: Xid (PCI:0000:05:00):", "NVRM: 79, GPU has fallen off"],
    ["0 xid 79"],
  ],
  ["split inside the head", ["NVRM: Xid", "(PCI:0000:05:00): 79, x"], ["0 xid 79"]],
  ["split over lines of one record", ["NVRM: Xid (0000:05:00):\nNVRM: 79, x"], ["0 xid 79"]],
  [
    "a split that never ends",
    ["NVRM: Xid", "NVRM: a", "NVRM: b", "NVRM: Xid (0000:05:00): 8, x"],
    ["0 xid 8"],
  ],
  [
    "by a UUID that was told",
    [`NVRM: GPU at PCI:0000:06:00: ${UUID}`, `NVRM: Xid (${UUID}): 48, x`],
    ["1 xid 48"],
  ],
  ["by a UUID that was not", [`NVRM: Xid (${UUID}): 48, x`], ["null xid 48"]],
  ["no die named", ["NVRM: Xid (): 79, x"], ["null xid 79"]],
  ["another die of the machine", ["NVRM: Xid (PCI:0000:81:00): 79, x"], ["other"]],
  ["another domain", ["NVRM: Xid (PCI:0001:05:00): 79, x"], ["other"]],
  ["off the bus", ["NVRM: GPU 0000:05:00.0: GPU has fallen off the bus."], ["0 off_bus null"]],
  ["off the bus, old", ["NVRM: GPU at 0000:06:00.0 has fallen off the bus."], ["1 off_bus null"]],
  [
    "off the bus when it is bound, three lines",
    [
      "NVRM: The NVIDIA GPU 0000:06:00.0\nNVRM: (PCI ID: 10de:102d) installed in this system\n" +
        "NVRM: fallen off the bus and is not responding to commands.",
    ],
    ["1 off_bus null"],
  ],
  [
    "the same in three records",
    [
      "NVRM: The NVIDIA GPU 0000:06:00.0",
      "NVRM: (PCI ID: 10de:102d) installed in this system has",
      "NVRM: fallen off the bus and is not responding to commands.",
    ],
    ["1 off_bus null"],
  ],
  [
    "does not start",
    ["NVRM: GPU 0000:05:00.0: RmInitAdapter failed! (0x24:0x1c:1603)"],
    ["0 init_failed null"],
  ],
  [
    "does not start, R304",
    ["NVRM: RmInitAdapter failed! (0x30:0xffff:660)"],
    ["null init_failed null"],
  ],
  [
    "a minor number",
    ["NVRM: GPU 0000:06:00.0: rm_init_adapter failed, device minor number 0"],
    ["1 init_failed null"],
  ],
  [
    "a probe",
    ["NVRM: The NVIDIA probe routine failed for 1 device(s)."],
    ["null init_failed null"],
  ],
  [
    "a probe, after lines that name a die",
    [
      `NVRM: GPU at PCI:0000:06:00: ${UUID}`,
      "NVRM: Xid (PCI:0000:06:00): 31, pid=1, name=a",
      "NVRM: The NVIDIA probe routine failed for 1 device(s).",
    ],
    ["1 xid 31", "null init_failed null"],
  ],
  [
    "a start that fails, after another die's UUID",
    [`NVRM: GPU at PCI:0000:06:00: ${UUID}`, "NVRM: RmInitAdapter failed! (0x30:0xffff:660)"],
    ["null init_failed null"],
  ],
  ["the driver's greeting", ["NVRM: loading NVIDIA UNIX x86_64 Kernel Module  470.256.02"], []],
  ["another program's words", ["myapp: the Xid was 79; GPU has fallen off the table"], []],
  ["somebody else's bus", ["usb 1-1: it has fallen off the bus"], []],
  ["an NVSwitch", ["nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20009, Non-fatal"], []],
];

for (const [name, pieces, expected] of CASES) {
  test(`xid: ${name}`, () => {
    assert.deepEqual(eventsOf(...pieces), expected);
  });
}

test("xid: no text makes the scanner throw, and a known line is found after any of it", () => {
  const word = fc.constantFrom(
    ...[
      "NVRM:",
      "Xid",
      "(",
      ")",
      "PCI:",
      "0000:05:00",
      ":",
      "79,",
      "GPU",
      "GPU-",
      "\n",
      " ",
      "\\x0a",
    ],
    ...["fallen off the bus", "RmInitAdapter failed", "GPU at", UUID, "\u0000", "é"],
  );
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(word, { maxLength: 30 }).map((words) => words.join("")),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 8 }), (pieces) => {
      const scanner = new XidScanner();
      for (const piece of pieces) {
        for (const sighting of scanner.push(piece)) {
          assert.ok(sighting.text.length <= TEXT_CHARACTERS_MAX);
          assert.equal(sighting.kind === "xid", Number.isInteger(sighting.xid));
        }
      }
      for (let line = 0; line < 4; line++) scanner.push("quiet");
      const [found] = scanner.push("NVRM: Xid (PCI:0000:05:00): 79, x");
      assert.deepEqual([found?.xid, found?.address], [79, "0000:05:00"]);
    }),
  );
});

test("xid: a long line costs no long time", () => {
  const scanner = new XidScanner();
  const startMs = performance.now();
  for (const piece of ["Xid (", "Xid(PCI:0000:", "GPU at ", "NVRM: Xid (a) "]) {
    scanner.push(`NVRM: ${piece.repeat(2_000)}`);
  }
  assert.ok(performance.now() - startMs < 2_000);
});

test("the catalogue: Xid 154 asks for what its line says", () => {
  const line = (action: string): string =>
    `Xid (PCI:0000:05:00): 154, GPU recovery action changed from 0x0 (None) to ${action}`;
  for (const [action, kind, mend] of [
    ["0x0 (None)", "notice", "none"],
    ["0x1 (GPU Reset Required)", "die", "reset"],
    ["0x2 (Node Reboot Required)", "die", "restart"],
    ["0x4 (Drain and Reset)", "die", "reset"],
    ["something new", "notice", "none"],
  ] as const) {
    const xid = xidOf(154, line(action));
    assert.deepEqual([xid.class, xid.mend], [kind, mend], action);
  }
  assert.equal(xidOf(31, line("0x2 (Node Reboot Required)")).class, "application");
});

test("the catalogue: application errors are told from those of the die", () => {
  for (const number of [13, 31, 43, 45, 68, 109]) {
    assert.equal(xidOf(number).class, "application", String(number));
  }
  for (const number of [48, 62, 63, 64, 79, 94, 95, 119, 4711]) {
    assert.equal(xidOf(number).class, "die", String(number));
  }
  assert.equal(xidOf(74).class, "board");
  for (const [number, xid] of XIDS) {
    assert.equal(xid.number, number);
    assert.ok(xid.meaning.length > 0 && mendOf(xid).length > 0);
  }
});
