import assert from "node:assert/strict";
import { test } from "node:test";
import { recordsOf } from "./kernel-log-facts.ts";

/** Reads as /dev/kmsg gives them: a record, or the error of that read; then EAGAIN. */
const log = (...reads: readonly { readonly text?: string; readonly code?: string }[]) => {
  let at = 0;
  return (into: Buffer): number => {
    const { text, code = "EAGAIN" } = reads[at++] ?? {};
    if (text === undefined) throw Object.assign(new Error(code), { code });
    return into.write(text);
  };
};

for (const code of ["EINVAL", "EPIPE", "EINTR"]) {
  test(`a read of the kernel's log that fails with ${code} costs that record alone`, () => {
    assert.deepEqual(recordsOf(log({ text: "one" }, { code }, { text: "two" })), ["one", "two"]);
  });
}

test("a kernel's log that cannot be read at all is told", () => {
  assert.throws(() => recordsOf(log({ text: "one" }, { code: "EIO" })), { code: "EIO" });
});
