import assert from "node:assert/strict";
import { test } from "node:test";
import { InvariantError } from "../base/mod.ts";
import {
  CATALOGUE,
  catalogueKernel,
  catalogueOperation,
  launchShape,
  type CatalogueName,
} from "./catalogue.ts";

test("names and op numbers are unique", () => {
  const names = CATALOGUE.map((kernel) => kernel.name);
  const operations = CATALOGUE.flatMap((kernel) => kernel.operation ?? []);
  assert.equal(new Set(names).size, names.length);
  assert.equal(new Set(operations).size, operations.length);
});

const operations: readonly (readonly [operation: number, name: string | null])[] = [
  [1, "mail"],
  [2, "vadd"],
  [3, "vadd_mutated"],
  [4, "slow_add"],
  [0, null],
  [5, null],
  [256, null],
];

for (const [operation, name] of operations) {
  test(`op ${operation} is ${name ?? "no kernel of the catalogue"}`, () => {
    assert.equal(catalogueOperation(operation)?.name ?? null, name);
  });
}

const grids: readonly (readonly [name: CatalogueName, elements: number, blocks: number])[] = [
  ["vadd", 0, 1],
  ["vadd", 1, 1],
  ["vadd", 256, 1],
  ["vadd", 257, 2],
  ["mail", 2 ** 20, 4096],
  ["slow_add", 2 ** 32 - 1, 2 ** 24],
  ["probe", 2 ** 20, 1],
  ["sum_f64", 257, 2],
  ["sum_f64", 2 ** 20, 1024],
];

for (const [name, elements, blocks] of grids) {
  test(`${name} over ${elements} elements is launched with ${blocks} blocks`, () => {
    const { grid, block } = launchShape(catalogueKernel(name), elements);
    assert.deepEqual(grid, [blocks, 1, 1]);
    assert.deepEqual(block, [name === "probe" ? 32 : 256, 1, 1]);
  });
}

test("asking for a kernel that is not in the catalogue is a bug", () => {
  assert.throws(() => catalogueKernel("nothing" as CatalogueName), InvariantError);
});
