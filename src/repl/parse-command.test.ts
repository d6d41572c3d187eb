import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { COMMANDS, usageOf } from "./commands.ts";
import { parseCommand, type CommandErrorCode } from "./parse-command.ts";

const GOOD: readonly { line: string; name: string; values: readonly number[] }[] = [
  { line: "discover", name: "discover", values: [] },
  { line: "online 0", name: "online", values: [0] },
  { line: "  online \t 31  ", name: "online", values: [31] },
  { line: "probe 1\r", name: "probe", values: [1] },
  { line: "swap 007", name: "swap", values: [7] },
  { line: "work 0 42 1000", name: "work", values: [0, 42, 1000] },
  { line: "work 0 0xDEADBEEF 0", name: "work", values: [0, 0xdeadbeef, 0] },
  { line: "work 0 0 16777215", name: "work", values: [0, 0, 16777215] },
  { line: "work 0 4294967295 1", name: "work", values: [0, 4294967295, 1] },
  { line: "work 0 010 1", name: "work", values: [0, 8, 1] },
  { line: "read 0", name: "read", values: [0] },
  { line: "count", name: "count", values: [] },
  { line: "status", name: "status", values: [] },
  { line: "help", name: "help", values: [] },
  { line: "shutdown", name: "shutdown", values: [] },
  { line: "quit", name: "quit", values: [] },
];

for (const { line, name, values } of GOOD) {
  test(`command: ${JSON.stringify(line)} is understood`, () => {
    const parsed = parseCommand(line);
    assert.ok(parsed?.ok);
    assert.equal(parsed.value.name, name);
    const { command } = parsed.value;
    assert.deepEqual(
      command.arguments.map((argument) => parsed.value.values[argument]),
      values,
    );
  });
}

const DIE = /range 0\.\.31/;
const ITERS = /whole number 0\.\.16777215/;
const SEED = /0\.\.4294967295/;

const BAD: readonly { line: string; code: CommandErrorCode; message: RegExp }[] = [
  { line: "frob", code: "unknown_command", message: /^unknown command 'frob' — try 'help'$/ },
  { line: "Online 0", code: "unknown_command", message: /'Online'/ },
  { line: "toString", code: "unknown_command", message: /'toString'/ },
  { line: "\x1b[2J", code: "unknown_command", message: /'\\x1b\[2J'/ },
  {
    line: "online",
    code: "missing_argument",
    message: /^online: missing <die>; usage: online <die>$/,
  },
  {
    line: "work 0",
    code: "missing_argument",
    message: /^work 0: missing <seed>; usage: work <die> /,
  },
  { line: "work 0 1", code: "missing_argument", message: /missing <iters>/ },
  {
    line: "online 1 2",
    code: "surplus_argument",
    message: /surplus argument '2'; usage: online <die>$/,
  },
  {
    line: "status now",
    code: "surplus_argument",
    message: /surplus argument 'now'; usage: status$/,
  },
  { line: "quit 1", code: "surplus_argument", message: /usage: shutdown\|quit\|exit$/ },
  {
    line: "online 99",
    code: "bad_argument",
    message: /^online 99: bad die '99' \(range 0\.\.31\)/,
  },
  { line: "online 32", code: "bad_argument", message: DIE },
  { line: "online 1x", code: "bad_argument", message: DIE },
  { line: "online -1", code: "bad_argument", message: DIE },
  { line: "online +1", code: "bad_argument", message: DIE },
  { line: "online 0x1", code: "bad_argument", message: DIE },
  { line: "online 1.0", code: "bad_argument", message: DIE },
  { line: "online 99999999999999999999", code: "bad_argument", message: DIE },
  { line: "online １", code: "bad_argument", message: DIE },
  { line: "work 0 -1 1", code: "bad_argument", message: SEED },
  { line: "work 0 4294967296 1", code: "bad_argument", message: SEED },
  { line: "work 0 0x100000000 1", code: "bad_argument", message: SEED },
  { line: "work 0 0x 1", code: "bad_argument", message: SEED },
  { line: "work 0 09 1", code: "bad_argument", message: SEED },
  { line: "work 0 1e3 1", code: "bad_argument", message: SEED },
  { line: "work 0 1 -1", code: "bad_argument", message: ITERS },
  { line: "work 0 1 16777216", code: "bad_argument", message: ITERS },
  { line: "work 0 1 1e30", code: "bad_argument", message: ITERS },
  { line: "work 0 1 1.5", code: "bad_argument", message: ITERS },
  { line: "work 0 1 0x10", code: "bad_argument", message: ITERS },
];

for (const { line, code, message } of BAD) {
  test(`command: ${JSON.stringify(line)} is refused as ${code}`, () => {
    const parsed = parseCommand(line);
    assert.ok(parsed !== null && !parsed.ok);
    assert.equal(parsed.error.code, code);
    assert.match(parsed.error.message, message);
  });
}

test("command: a line without words is none", () => {
  for (const line of ["", " ", "\t \r"]) assert.equal(parseCommand(line), null);
});

test("command: any refusal is one short printable line", () => {
  const words = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(...COMMANDS.flatMap((each) => each.names), "0", "1", "0x1"),
  );
  fc.assert(
    fc.property(fc.array(words, { maxLength: 5 }), (parts) => {
      const parsed = parseCommand(parts.join(" "));
      if (parsed === null || parsed.ok) return;
      assert.doesNotMatch(parsed.error.message, /[\p{C}\p{Zl}\p{Zp}]/u);
      assert.ok(
        parsed.error.message.length < 1000,
        "each of three echoes is at most 64 characters",
      );
    }),
  );
});

test("command: no name means two things, and usage names every argument", () => {
  const names = COMMANDS.flatMap((command) => command.names);
  assert.equal(new Set(names).size, names.length);
  for (const command of COMMANDS) {
    for (const argument of command.arguments)
      assert.match(usageOf(command), new RegExp(`<${argument}>`));
  }
});
