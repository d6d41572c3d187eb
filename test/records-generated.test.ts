// What is made from the records is committed; a stale file fails here and says what to run.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { suite, test } from "node:test";
import { makeTables } from "../src/records/documents.ts";
import { makeFiles, PROTOCOL, STALE, withTables } from "../tools/make-records.ts";

for (const [file, text] of makeFiles()) {
  test(`${relative(process.cwd(), file)} is what the records make`, () => {
    assert.ok(readFileSync(file, "utf8") === text, `${file} is stale; ${STALE}`);
  });
}

suite("tables in a document", () => {
  const tables = new Map([["one", "| new |"]]);
  const document = "a\n\n<!-- table: one -->\n\n| old |\n\n<!-- end of table -->\n\nz\n";

  test("a table takes the place of the old one, and nothing else changes", () => {
    assert.equal(withTables(document, tables), document.replace("old", "new"));
  });
  test("a document without the place is refused", () => {
    assert.throws(() => withTables("a\n", tables), /one place '<!-- table: one -->'/);
  });
  test("so is one with two of it, and one whose place does not end", () => {
    assert.throws(() => withTables(document + document, tables), /one place/);
    assert.throws(() => withTables(document.replace("end", "END"), tables), /one place/);
  });
  test("the document has no table that is not made", () => {
    const found = readFileSync(PROTOCOL, "utf8").matchAll(/<!-- table: (\w+) -->/g);
    assert.deepEqual(Array.from(found, ([, name]) => name).sort(), [...makeTables().keys()].sort());
  });
});
