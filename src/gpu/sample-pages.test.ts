import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sampleCount, samplePages } from "./sample-pages.ts";

const counts: readonly (readonly [pages: number, count: number])[] = [
  [0, 0],
  [1, 1],
  [63, 63],
  [64, 64],
  [65, 64],
  [1024, 64],
  [1025, 65],
  [1040, 65],
  [2 ** 18, 2 ** 14],
];

for (const [pages, count] of counts) {
  test(`a sample of ${pages} pages looks at ${count}`, () => {
    assert.equal(sampleCount(pages), count);
    assert.equal(samplePages(pages, 7n).length, count);
  });
}

test("property: the pages are different, in order, in range, and the seed's alone", () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (pages, seed) => {
      const chosen = samplePages(pages, seed);
      for (const [index, page] of chosen.entries()) {
        assert.ok(page >= 0 && page < pages);
        assert.ok(page > (chosen[index - 1] ?? -1));
      }
      assert.deepEqual(samplePages(pages, seed), chosen);
    }),
  );
});

test("every page is as likely as any other", () => {
  const [pages, rounds] = [256, 4000];
  const hits = new Float64Array(pages);
  for (let seed = 0n; seed < rounds; seed++) {
    for (const page of samplePages(pages, seed)) hits[page] = (hits[page] ?? 0) + 1;
  }
  const expected = (rounds * sampleCount(pages)) / pages;
  // Five standard deviations of so many draws with a chance of one in four.
  const spread = 5 * Math.sqrt(expected * 0.75);
  for (const [page, hit] of hits.entries()) {
    assert.ok(Math.abs(hit - expected) < spread, `page ${page}: ${hit} of about ${expected}`);
  }
});

test("seeds that differ in any one bit draw differently", () => {
  const base = samplePages(4096, 0n);
  for (let bit = 0n; bit < 64n; bit++) assert.notDeepEqual(samplePages(4096, 1n << bit), base);
});
