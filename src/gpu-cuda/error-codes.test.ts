import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { CUDA_RESULTS, errorNameOf, STICKY_CODES } from "./error-codes.ts";

const CUDA_ROOT = "/usr/local";

/** The toolkit's cuda.h, or null. */
function findHeader(): string | null {
  if (!existsSync(CUDA_ROOT)) return null;
  const folders = readdirSync(CUDA_ROOT).filter((name) => /^cuda(-[\d.]+)?$/.test(name));
  const headers = folders.map((name) => join(CUDA_ROOT, name, "include", "cuda.h"));
  return headers.find((path) => existsSync(path)) ?? null;
}

type Listed = { readonly code: number; readonly name: string; readonly comment: string };

/** The members of `enum cudaError_enum`, each with the comment above it. */
function parseResults(header: string): Listed[] {
  const start = header.indexOf("typedef enum cudaError_enum {");
  const body = header.slice(start, header.indexOf("} CUresult;", start));
  const members = body.matchAll(/\/\*\*([^]*?)\*\/\s*(CUDA_\w+)\s*=\s*(\d+)/g);
  return [...members].map(([, comment = "", name = "", code]) => ({
    code: Number(code),
    name,
    comment: comment.replaceAll(/\s*\*\s*/g, " "),
  }));
}

const header = findHeader();
const skip = header === null ? "no cuda.h on this machine" : false;
const listed = header === null ? [] : parseResults(readFileSync(header, "utf8"));

test("the table of results holds all that cuda.h lists, by number and name", { skip }, () => {
  assert.ok(listed.length > 90, `${listed.length} results were read from ${String(header)}`);
  for (const { code, name } of listed) assert.equal(CUDA_RESULTS[code], name);
});

test("what cuda.h calls the end of the process is sticky", { skip }, () => {
  const fatal = listed.filter(({ comment }) => /must be terminated and relaunched/.test(comment));
  assert.ok(fatal.length >= 10);
  for (const { code, name } of fatal) assert.ok(STICKY_CODES.has(code), name);
});

test("every sticky code has a name", () => {
  for (const code of STICKY_CODES) assert.match(errorNameOf(code), /^CUDA_ERROR_(?!UNLISTED)/);
});

test("refusals and answers are not sticky", () => {
  for (const code of [0, 1, 2, 100, 101, 200, 209, 218, 222, 500, 600, 701]) {
    assert.ok(!STICKY_CODES.has(code), errorNameOf(code));
  }
});

test("a number that no header lists has a name all the same", () => {
  assert.equal(errorNameOf(700), "CUDA_ERROR_ILLEGAL_ADDRESS");
  assert.equal(errorNameOf(12345), "CUDA_ERROR_UNLISTED");
});
