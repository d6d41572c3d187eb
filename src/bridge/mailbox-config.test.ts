import assert from "node:assert/strict";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { parseMailboxes, readMailboxes, type MailboxDefaults } from "./mailbox-config.ts";

const defaults: MailboxDefaults = {
  verify: "auto",
  dies: null,
  timeoutMs: 10_000,
  timeoutMaxMs: 60_000,
  forgetSequence: false,
};

const V2 = { name: "vm1", job: "vm1/job", in: "vm1/in", out: "vm1/out", done: "/run/vm1/done" };
const V1 = { name: "vm2", job: "vm2/job", done: "vm2/done", ram: "/dev/shm/ram" };

const parse = (value: unknown) =>
  parseMailboxes(JSON.stringify(value), { folder: "/etc/holdfast", defaults });

test("one mailbox of each version, with paths relative to the file's folder", () => {
  const parsed = parse({ bridges: [V2, V1] });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  assert.deepEqual(parsed.value, [
    {
      version: 2,
      name: "vm1",
      job: "/etc/holdfast/vm1/job",
      in: "/etc/holdfast/vm1/in",
      out: "/etc/holdfast/vm1/out",
      done: "/run/vm1/done",
      modules: null,
      ...defaults,
    },
    {
      version: 1,
      name: "vm2",
      job: "/etc/holdfast/vm2/job",
      done: "/etc/holdfast/vm2/done",
      ram: "/dev/shm/ram",
      ramLowBytes: 2 ** 31,
      ...defaults,
    },
  ]);
});

test("an entry's own settings go before the defaults", () => {
  const own = { verify: "full", dies: [1, 0], timeout_ms: 90_000, modules: "kernels" };
  const parsed = parse({
    bridges: [
      { ...V2, ...own },
      { ...V1, ram_low_bytes: 4096, timeout_ms: 5, timeout_max_ms: 6 },
    ],
  });
  assert.ok(parsed.ok, JSON.stringify(parsed));
  const [first, second] = parsed.value;
  assert.ok(first?.version === 2 && second?.version === 1);
  assert.deepEqual(
    [first.verify, first.dies, first.modules],
    ["full", [1, 0], "/etc/holdfast/kernels"],
  );
  // The upper bound follows where only the default time is raised.
  assert.deepEqual([first.timeoutMs, first.timeoutMaxMs], [90_000, 90_000]);
  assert.deepEqual([second.ramLowBytes, second.timeoutMs, second.timeoutMaxMs], [4096, 5, 6]);
});

const WRONG: readonly (readonly [name: string, value: unknown, message: RegExp])[] = [
  ["no table", [], /^the file holds \{"bridges": \[ … \]\}/],
  ["no list", { bridges: {} }, /^the file holds/],
  ["an empty list", { bridges: [] }, /^the file holds/],
  ["a key beside it", { bridges: [V2], version: 2 }, /^unknown key "version" beside "bridges"$/],
  ["an entry that is none", { bridges: [V2, "vm2"] }, /^bridges\[1\]: an entry is/],
  [
    "a misspelt key",
    { bridges: [{ ...V2, tiemout_ms: 5 }] },
    /^bridges\[0\] \(vm1\): unknown key "tiemout_ms"; there are name, job, .*, timeout_max_ms$/,
  ],
  [
    "a key of an object's own",
    { bridges: [{ ...V2, constructor: 1 }] },
    /unknown key "constructor"/,
  ],
  ["v2 beside v1", { bridges: [{ ...V1, out: "o" }] }, /"out" is of v2, and "ram" makes .* v1/],
  ["v1 in v2", { bridges: [{ ...V2, ram_low_bytes: 1 }] }, /"ram_low_bytes" is of v1/],
  ["a number for a path", { bridges: [{ ...V2, job: 5 }] }, /"job" is a path, as text, not 5$/],
  ["an empty path", { bridges: [{ ...V2, in: "" }] }, /"in" is a path, as text, not ""$/],
  ["text for a number", { bridges: [{ ...V2, timeout_ms: "5" }] }, /"timeout_ms" is milliseconds/],
  ["a fraction", { bridges: [{ ...V2, timeout_ms: 0.5 }] }, /milliseconds, not 0.5$/],
  ["a negative size", { bridges: [{ ...V1, ram_low_bytes: -1 }] }, /a number of bytes, not -1$/],
  ["another mode", { bridges: [{ ...V2, verify: "all" }] }, /auto, full, sample, none, not "all"$/],
  [
    "one die for a list",
    { bridges: [{ ...V2, dies: 0 }] },
    /a list of numbers, e.g. \[0, 1\], not 0/,
  ],
  ["null", { bridges: [{ ...V2, name: null }] }, /"name" is text, not null$/],
  [
    "nothing but a name",
    { bridges: [{ name: "vm1" }] },
    /"job", "done", "in", "out" missing; a mailbox of v1 has "ram" instead/,
  ],
  [
    "no job in v1",
    { bridges: [{ ...V1, job: undefined }] },
    /^bridges\[0\] \(vm2\): "job" missing$/,
  ],
];

for (const [name, value, message] of WRONG) {
  test(`refused: ${name}`, () => {
    const parsed = parse(value);
    assert.ok(!parsed.ok);
    assert.match(parsed.error, message);
  });
}

test("text that is no JSON is refused with the parser's words", () => {
  const parsed = parseMailboxes('{"bridges": [}', { folder: "/", defaults });
  assert.ok(!parsed.ok);
  assert.match(parsed.error, /^this is no JSON: .*}/);
});

test("readMailboxes() names the file in every error", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-config-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "bridges.json");
  const errorOf = (): string => {
    const read = readMailboxes(file, defaults);
    return read.ok ? "" : read.error;
  };
  assert.match(errorOf(), /^cannot stat .*bridges\.json: .*; --config names a JSON file$/);
  writeFileSync(file, '{"bridges": []}');
  assert.match(errorOf(), /bridges\.json: the file holds/);
  truncateSync(file, 2 ** 20 + 1);
  assert.match(errorOf(), /has 1048577 bytes; a config file has at most 1048576/);
  writeFileSync(file, JSON.stringify({ bridges: [V2] }));
  const read = readMailboxes(file, defaults);
  assert.ok(read.ok);
  assert.equal(read.value[0]?.job, join(folder, "vm1/job"));
});
