import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ok } from "../base/mod.ts";
import type { GpuContext, GpuModule } from "../gpu/mod.ts";
import { ModuleCache } from "./host-modules.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-modules-"));
test.after(() => rmSync(folder, { recursive: true }));

/** Counts what is loaded and unloaded; a module's `name` is its text. */
function countingCache(): { cache: ModuleCache; loads: string[]; unloads: string[] } {
  const [loads, unloads]: [string[], string[]] = [[], []];
  const loadModule = (text: string): ReturnType<typeof ok<GpuModule>> => {
    loads.push(text);
    const unload = (): void => void unloads.push(text);
    return ok({ name: text, kernelNames: [], unload, kernel: () => assert.fail("not asked for") });
  };
  return { cache: new ModuleCache({ loadModule } as unknown as GpuContext), loads, unloads };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Writes a text that looks as old as any other written so. */
function writeSameAge(path: string, text: string): void {
  writeFileSync(path, text);
  utimesSync(path, 1_000_000, 1_000_000);
}

const textOf = (cache: ModuleCache, path: string, text?: string): string => {
  const named = text === undefined ? {} : { sha256: sha256(text) };
  const module = cache.load({ name: "k.ptx", path, ...named });
  return module.ok ? module.value.name : module.error.name;
};

test("a module is loaded once, and again when its file has changed", () => {
  const { cache, loads, unloads } = countingCache();
  const path = join(folder, "a.ptx");
  writeFileSync(path, "one");
  assert.deepEqual([textOf(cache, path), textOf(cache, path)], ["one", "one"]);
  writeFileSync(path, "another");
  assert.equal(textOf(cache, path), "another");
  assert.deepEqual([loads, unloads], [["one", "another"], ["one"]]);
});

test("a named hash is what is loaded, even where the file looks as it did", () => {
  const { cache, loads } = countingCache();
  const path = join(folder, "b.ptx");
  writeSameAge(path, "one");
  assert.equal(textOf(cache, path, "one"), "one");
  assert.equal(textOf(cache, path, "two"), "module_changed");
  writeSameAge(path, "two");
  assert.equal(textOf(cache, path), "one", "the control: without a hash the stamp decides");
  assert.equal(textOf(cache, path, "two"), "two");
  assert.equal(textOf(cache, path, "one"), "module_changed");
  assert.deepEqual(loads, ["one", "two"]);
});

test("a hash that the cache holds needs no file", () => {
  const { cache } = countingCache();
  const path = join(folder, "c.ptx");
  writeFileSync(path, "one");
  assert.equal(textOf(cache, path, "one"), "one");
  rmSync(path);
  assert.equal(textOf(cache, path, "one"), "one");
  assert.equal(textOf(cache, path), "module_not_found");
});

test("a missing module and what is no file are told apart", () => {
  const { cache } = countingCache();
  assert.equal(textOf(cache, join(folder, "none.ptx")), "module_not_found");
  assert.equal(textOf(cache, folder), "module_unreadable");
});
