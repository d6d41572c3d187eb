import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import type { Mailbox, MailboxV1, MailboxV2 } from "./mailbox.ts";
import { findMailboxFault, MAILBOXES_MAX } from "./mailbox-rules.ts";
import { mailboxV1In, mailboxV2In, testFolder } from "./testing.ts";

const two = (more: Partial<MailboxV2>): Mailbox[] => [mailboxV2In("/a", more)];
const one = (more: Partial<MailboxV1>): Mailbox[] => [mailboxV1In("/a", more)];

test("mailboxes that can be served", () => {
  assert.equal(findMailboxFault(two({})), null);
  assert.equal(findMailboxFault(one({})), null);
  assert.equal(findMailboxFault(one({ ramLowBytes: 2 ** 32, dies: [0, 31] })), null);
  // Two guests may read one input, and two mailboxes may be one guest's.
  assert.equal(findMailboxFault([...two({}), mailboxV2In("/b", { name: "b", in: "/a/in" })]), null);
  assert.equal(
    findMailboxFault([...one({}), mailboxV1In("/b", { name: "b", ram: "/a/ram" })]),
    null,
  );
});

const WRONG: readonly (readonly [name: string, mailboxes: Mailbox[], fault: RegExp])[] = [
  ["none", [], /there is no mailbox/],
  ["an empty name", two({ name: "" }), /name is 1 to 64/],
  ["a name with a space", two({ name: "a b" }), /name is 1 to 64/],
  ["a long name", two({ name: "a".repeat(65) }), /name is 1 to 64/],
  ["a relative path", two({ out: "out" }), /test: out out is no absolute path/],
  ["a NUL in a path", two({ done: "/a/do\0ne" }), /done holds a NUL/],
  ["no dies", two({ dies: [] }), /no die may run its jobs/],
  ["a die beyond all", two({ dies: [0, 32] }), /no die 32: dies are numbered 0\.\.31/],
  ["a half die", two({ dies: [0.5] }), /no die 0\.5/],
  ["a die twice", two({ dies: [1, 1] }), /named twice/],
  ["no time", two({ timeoutMs: 0 }), /timeoutMs is 0; 1 to 86400000/],
  ["more than a day", two({ timeoutMaxMs: 86_400_001 }), /timeoutMaxMs is 86400001/],
  ["a time above its bound", two({ timeoutMs: 60_001 }), /60001 ms, is above .* 60000 ms/],
  ["no low RAM", one({ ramLowBytes: 0 }), /RAM below the PCI hole is 0 bytes/],
  ["low RAM above 4 GiB", one({ ramLowBytes: 2 ** 32 + 1 }), /is 4294967297 bytes/],
  ["a folder that is not there", two({ modules: "/nowhere" }), /\/nowhere cannot be looked at/],
  ["job and done in one", two({ done: "/a/job" }), /its done is the job of test/],
  ["out over in", two({ out: "/a/in" }), /its out is the in of test: \/a\/in/],
  ["out over the operands by another name", two({ out: "/a/./in" }), /its out is the in of test/],
  ["done in the RAM", one({ done: "/a/ram" }), /its ram is the done of test/],
  ["one name twice", [...two({}), mailboxV2In("/b")], /two mailboxes are called test/],
  ["one job twice", [...two({}), mailboxV2In("/b", { name: "b", job: "/a/job" })], /b: its job is/],
  [
    "one done twice",
    [...two({}), mailboxV2In("/b", { name: "b", done: "/a/done" })],
    /b: its done/,
  ],
];

for (const [name, mailboxes, fault] of WRONG) {
  test(`refused: ${name}`, () => assert.match(findMailboxFault(mailboxes) ?? "", fault));
}

test("one mailbox by two names is refused, two beside one another are not", (context) => {
  const folder = testFolder(context);
  for (const name of ["box", "other"]) mkdirSync(join(folder, name));
  symlinkSync("box", join(folder, "alias"));
  const [box, other, alias] = ["box", "other", "alias"].map((name) =>
    mailboxV2In(join(folder, name), { name }),
  );
  assert.ok(box !== undefined && other !== undefined && alias !== undefined);
  assert.equal(findMailboxFault([box, other]), null);
  assert.equal(findMailboxFault([other, alias]), null);
  const fault = `alias: its job is the job of box: ${folder}/alias/job`;
  assert.equal(findMailboxFault([box, alias]), fault);
});

test("a file for a folder of modules is refused, a folder is not", (context) => {
  const folder = testFolder(context);
  assert.equal(findMailboxFault(two({ modules: folder })), null);
  writeFileSync(join(folder, "file"), "");
  assert.match(findMailboxFault(two({ modules: join(folder, "file") })) ?? "", /is no folder/);
});

test("as many mailboxes as one daemon serves, and one more", () => {
  const many = Array.from({ length: MAILBOXES_MAX + 1 }, (_, index) =>
    mailboxV2In(`/${String(index)}`, { name: String(index) }),
  );
  assert.equal(findMailboxFault(many.slice(1)), null);
  assert.match(findMailboxFault(many) ?? "", /257 mailboxes; at most 256/);
});
