import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { FAULT_BYTES } from "../abi.ts";
import { scratchLayout } from "./image.ts";

suite("scratchLayout", () => {
  test("puts fault record, context, shared and local memory one after the other, aligned", () => {
    const layout = scratchLayout({ contextBytes: 100, localBytes: 48 }, 3, 10);
    assert.deepEqual(layout, {
      contextOffset: FAULT_BYTES,
      sharedOffset: 192, // 64 + 100, aligned
      localOffset: 256,
      bytes: 448, // 256 + 3 * 48, aligned
    });
  });

  test("takes no more than the fault record for a kernel that needs nothing", () => {
    assert.equal(scratchLayout({ contextBytes: 0, localBytes: 0 }, 1024, 0).bytes, FAULT_BYTES);
  });

  test("refuses a block larger than the context is made for", () => {
    assert.throws(() => scratchLayout({ contextBytes: 0, localBytes: 0 }, 1025, 0), /1025 threads/);
  });
});
