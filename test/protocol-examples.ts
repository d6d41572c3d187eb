/** The examples of docs/PROTOCOL.md: what stands between its fences, for the tests that use it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { PROTOCOL } from "../tools/make-records.ts";

/** The text between "```language title" and the end of that block, its last line feed included. */
function block(language: string, title: string): string {
  const begin = `\n\`\`\`${language} ${title}\n`;
  const [, rest, more] = readFileSync(PROTOCOL, "utf8").split(begin);
  assert.ok(rest !== undefined && more === undefined, `docs/PROTOCOL.md has one '${begin.trim()}'`);
  return rest.slice(0, rest.indexOf("```"));
}

/** Bytes, of which each line has up to 16 in hex, then two spaces and what they say. */
export function hexExample(title: string): Uint8Array {
  const lines = block("hex", title).trimEnd().split("\n");
  return Uint8Array.from(
    lines.flatMap((line) => {
      const [hex = ""] = line.split("  ", 1);
      assert.match(hex, /^[0-9a-f]{2}( [0-9a-f]{2}){0,15}$/);
      return hex.split(" ").map((byte) => Number.parseInt(byte, 16));
    }),
  );
}

/** A PTX file. */
export const ptxExample = (title: string): string => block("ptx", title);
