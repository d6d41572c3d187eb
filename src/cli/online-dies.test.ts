import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { err, ok } from "../base/mod.ts";
import type { Owner, OwnerRefusalCode } from "../owner/mod.ts";
import { bringOnline, exitOfRefusal } from "./online-dies.ts";

/** Dies 0 to 2, of which some refuse. */
function ownerOf(
  refusing: readonly number[],
  count = 3,
): Pick<Owner, "discover" | "online" | "bindAll"> {
  const dies = Array.from({ length: count }, (_, die) => ({
    die,
    address: `soft:${die}`,
    deviceName: "A device",
  }));
  return {
    discover: () => Promise.resolve(ok({ dies, occupant: null })),
    bindAll: () => Promise.resolve(),
    online: (die) => {
      const found = dies[die];
      if (found === undefined || refusing.includes(die)) {
        const code = found === undefined ? "no_such_die" : "bring_up_failed";
        return Promise.resolve(err({ code, message: `die ${die} refuses` }));
      }
      const addresses = { inputAddress: 0n, outputAddress: 0n };
      const report = { ...found, ...addresses, wasOnline: false, ordinal: die, elapsedMs: 395 };
      return Promise.resolve(ok(report));
    },
  };
}

suite("dies are brought online", () => {
  test("all that there are, or those that are wanted", async () => {
    const lines: string[] = [];
    const all = await bringOnline(ownerOf([]), null, (line) => lines.push(line));
    assert.ok(all.ok);
    assert.deepEqual(
      all.value.map(({ die }) => die),
      [0, 1, 2],
    );
    assert.equal(lines[0], "die 0: soft:0 A device, ready in 395 ms");
    const some = await bringOnline(ownerOf([]), [2], () => undefined);
    assert.ok(some.ok);
    assert.deepEqual(
      some.value.map(({ die }) => die),
      [2],
    );
  });

  test("one that refuses is told of and left", async () => {
    const lines: string[] = [];
    const some = await bringOnline(ownerOf([1]), null, (line) => lines.push(line));
    assert.ok(some.ok);
    assert.equal(some.value.length, 2);
    assert.equal(lines[1], "die 1: not online: die 1 refuses");
  });

  test("where none comes online, the refusal is told", async () => {
    const none = await bringOnline(ownerOf([0, 1, 2]), null, () => undefined);
    assert.deepEqual(none, err({ code: "bring_up_failed", message: "die 2 refuses" }));
    const absent = await bringOnline(ownerOf([], 0), null, () => undefined);
    assert.ok(!absent.ok);
    assert.equal(absent.error.code, "no_device");
  });

  test("with none discovered there is no device", async () => {
    const refusal = { code: "no_device", message: "no driver" } as const;
    const owner = { ...ownerOf([]), discover: () => Promise.resolve(err(refusal)) };
    assert.deepEqual(await bringOnline(owner, null, () => undefined), err(refusal));
  });
});

test("a refusal's exit code tells an absent device from one that failed", () => {
  const codes: readonly (readonly [OwnerRefusalCode, number])[] = [
    ["no_device", 3],
    ["no_such_die", 3],
    ["bring_up_failed", 4],
    ["slot_failed", 4],
  ];
  for (const [code, exit] of codes) assert.equal(exitOfRefusal({ code, message: "" }), exit);
});
