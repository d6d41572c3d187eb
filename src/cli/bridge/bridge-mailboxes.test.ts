import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Mailbox } from "../../bridge/mod.ts";
import type { BridgeCommandFlags } from "./bridge-flags.ts";
import { flagsBesideConfig, mailboxDefaults, mailboxOf } from "./bridge-mailboxes.ts";

const NONE: BridgeCommandFlags = {
  backend: "auto",
  dies: undefined,
  slot: "direct",
  stateDir: undefined,
  timeoutMs: 60_000,
  holdMs: undefined,
  waitMs: undefined,
  json: false,
  job: undefined,
  in: undefined,
  out: undefined,
  done: undefined,
  modules: undefined,
  ram: undefined,
  ramLowSize: undefined,
  config: undefined,
  once: false,
  pollUs: undefined,
  verify: "auto",
  die: undefined,
  timeoutMaxMs: undefined,
  forgetSeq: false,
  fault: undefined,
};

const V2 = { job: "j", in: "i", out: "/abs/o", done: "d" } as const;
const V1 = { job: "j", done: "d", ram: "r" } as const;

function mailbox(flags: Partial<BridgeCommandFlags>): Mailbox | string {
  const all = { ...NONE, ...flags };
  const defaults = mailboxDefaults(all);
  if (!defaults.ok) return defaults.error;
  const made = mailboxOf(all, defaults.value, "/folder");
  return made.ok ? made.value : made.error;
}

const COMMON = {
  name: "mailbox",
  job: "/folder/j",
  done: "/folder/d",
  verify: "auto",
  dies: null,
  timeoutMs: 60_000,
  timeoutMaxMs: 600_000,
  forgetSequence: false,
} as const;

suite("the mailbox of the flags", () => {
  test("is v2, its paths absolute", () => {
    const files = { in: "/folder/i", out: "/abs/o", modules: null };
    assert.deepEqual(mailbox(V2), { ...COMMON, version: 2, ...files });
    assert.deepEqual(mailbox({ ...V2, modules: "m" }), {
      ...COMMON,
      version: 2,
      ...files,
      modules: "/folder/m",
    });
  });

  test("is v1 where there is a RAM file", () => {
    const memory = { ram: "/folder/r", ramLowBytes: 2 ** 31 };
    assert.deepEqual(mailbox(V1), { ...COMMON, version: 1, ...memory });
    const low = mailbox({ ...V1, ramLowSize: 3 * 2 ** 30 });
    assert.deepEqual(low, { ...COMMON, version: 1, ...memory, ramLowBytes: 3 * 2 ** 30 });
  });

  test("takes what all mailboxes have in common from the flags", () => {
    const made = mailbox({
      ...V2,
      verify: "sample",
      die: [3, 1, 3],
      timeoutMs: 700_000,
      forgetSeq: true,
    });
    assert.ok(typeof made !== "string");
    assert.deepEqual(
      [made.verify, made.dies, made.timeoutMs, made.timeoutMaxMs, made.forgetSequence],
      ["sample", [3, 1], 700_000, 700_000, true],
    );
  });

  const wrong: readonly (readonly [string, Partial<BridgeCommandFlags>, RegExp])[] = [
    ["nothing", {}, /nothing to serve; give --job.*--ram.*--config/],
    ["no job", { ...V2, job: undefined }, /^--job is missing/],
    ["no done", { ...V2, done: undefined }, /^--done is missing/],
    ["no in", { ...V2, in: undefined }, /^--in missing for v2; for v1 give --ram/],
    ["no out", { ...V2, out: undefined }, /^--out missing/],
    ["neither in nor out", { job: "j", done: "d" }, /^--in and --out missing/],
    ["a RAM file beside in", { ...V2, ...V1 }, /^--in and --out of v2 beside --ram of v1/],
    ["a RAM file beside modules", { ...V1, modules: "m" }, /^--modules of v2/],
    ["low RAM without RAM", { ...V2, ramLowSize: 4096 }, /^--ram-low-size is of v1; give --ram/],
    ["a default above the bound", { ...V2, timeoutMaxMs: 59_999 }, /below --timeout-ms 60000/],
  ];
  for (const [name, flags, error] of wrong) {
    test(`is refused: ${name}`, () => {
      const made = mailbox(flags);
      assert.ok(typeof made === "string");
      assert.match(made, error);
    });
  }
});

test("a config file leaves no room for the flags of one mailbox", () => {
  assert.deepEqual(flagsBesideConfig({ ...NONE, verify: "full", die: [1], once: true }), []);
  assert.deepEqual(flagsBesideConfig({ ...NONE, in: "i", ramLowSize: 1 }), [
    "--in",
    "--ram-low-size",
  ]);
});
