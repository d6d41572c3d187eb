import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { HOLDFAST_VERSION } from "./version.ts";

test("the version is the one in package.json", () => {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  assert.equal((JSON.parse(text) as { readonly version: string }).version, HOLDFAST_VERSION);
});
