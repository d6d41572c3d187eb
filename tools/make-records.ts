// Makes what derives from the records, `node dist/tools/make-records.js`: the C header, and the
// tables of docs/PROTOCOL.md, each between two comments that name it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeHeader, makeTables } from "../src/records/documents.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What is made whole, and what is made in parts. */
export const HEADER = join(ROOT, "include", "holdfast", "records.h");
export const PROTOCOL = join(ROOT, "docs", "PROTOCOL.md");

/** What a test says of a file that is not what would be made. */
export const STALE = "run: npm run build && node dist/tools/make-records.js";

/** The document with its tables as the records have them. Throws where one has no place. */
export function withTables(document: string, tables: ReadonlyMap<string, string>): string {
  let made = document;
  for (const [name, table] of tables) {
    const [begin, end] = [`<!-- table: ${name} -->\n`, "\n<!-- end of table -->"];
    const [head, rest, more] = made.split(begin);
    const at = rest?.indexOf(end) ?? -1;
    if (head === undefined || rest === undefined || more !== undefined || at < 0) {
      throw new Error(`docs/PROTOCOL.md must have one place '${begin.trim()}' .. '${end.trim()}'`);
    }
    made = `${head}${begin}\n${table}\n${rest.slice(at)}`;
  }
  return made;
}

/** Each made file, with what it should be. */
export const makeFiles = (): ReadonlyMap<string, string> =>
  new Map([
    [HEADER, makeHeader()],
    [PROTOCOL, withTables(readFileSync(PROTOCOL, "utf8"), makeTables())],
  ]);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [file, text] of makeFiles()) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}
