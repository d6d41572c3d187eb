import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, suite, test } from "node:test";
import { createGuestMemory, HIGH_WINDOW, LOW_BYTES, MEMORY_BYTES } from "./guest-memory.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-memory-"));
after(() => {
  rmSync(folder, { recursive: true });
});

suite("guest memory", () => {
  test("is as large as it says, and takes next to no room", () => {
    const memory = createGuestMemory(join(folder, "sparse"));
    memory.write(HIGH_WINDOW, Uint8Array.of(1, 2, 3));
    memory.close();
    const { size, blocks } = statSync(memory.path);
    assert.equal(size, MEMORY_BYTES);
    assert.ok(blocks * 512 < 2 ** 20);
  });

  test("keeps both windows apart, up to their last byte", () => {
    const memory = createGuestMemory(join(folder, "windows"));
    const places = [0, LOW_BYTES - 1, HIGH_WINDOW, HIGH_WINDOW + LOW_BYTES - 1];
    places.forEach((place, index) => memory.write(place, Uint8Array.of(index + 1)));
    assert.deepEqual(
      places.map((place) => memory.read(place, 1)[0]),
      [1, 2, 3, 4],
    );
    memory.close();
  });

  test("has nothing in the hole, nor past the end", () => {
    const memory = createGuestMemory(join(folder, "hole"));
    for (const place of [LOW_BYTES - 1, LOW_BYTES, HIGH_WINDOW - 1, HIGH_WINDOW + LOW_BYTES - 1]) {
      assert.throws(() => memory.read(place, 2), /one window/);
    }
    memory.close();
  });

  test("never takes over a file that is there", () => {
    createGuestMemory(join(folder, "mine")).close();
    assert.throws(() => createGuestMemory(join(folder, "mine")), /EEXIST/);
  });
});
