import assert from "node:assert/strict";
import { test } from "node:test";

import { VirtualClock } from "../base/mod.ts";
import type { CountedDevice } from "./board.ts";
import { createSimBoard } from "./sim-board.ts";

const devicesAt = (...addresses: readonly (string | null)[]): readonly CountedDevice[] =>
  addresses.map((pciAddress, ordinal) => ({ ordinal, name: "a device", pciAddress }));

test("simulated dies find their own devices, or share those that are nobody's", async () => {
  const board = createSimBoard({ dies: 3, clock: new VirtualClock() });
  const found = await board.discover(() => assert.fail("no driver is asked"));
  assert.ok(found.ok);
  const [first = "", second = ""] = found.value.map(({ address }) => address);
  const cases: readonly (readonly [string, readonly CountedDevice[], readonly unknown[]])[] = [
    ["no device", [], [null, null, null]],
    ["software devices", devicesAt(null, null), [0, 1, 0]],
    ["one real GPU", devicesAt("0000:00:06.0"), [0, 0, 0]],
    [
      "two of three dies, as the driver spells them",
      devicesAt(`0000${second}`, first),
      [1, 0, null],
    ],
  ];
  for (const [name, devices, expected] of cases) {
    assert.deepEqual(
      found.value.map((die) => board.ordinalOf(die, devices)),
      expected,
      name,
    );
  }
});
