// The calls themselves, on files that are no bar_swap device: a real one is in the kernel test.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openBarSwap } from "./bar-swap-ffi.ts";
import { SLOT_READ_BYTES_MAX } from "./step-protocol.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-slot-"));
after(() => rmSync(folder, { recursive: true }));

test("a device that is not there is ENOENT, and one that is another one ENOTTY, by name", () => {
  assert.throws(() => openBarSwap(join(folder, "bar_swap")), { name: "FileError", code: "ENOENT" });
  const device = openBarSwap("/dev/null");
  for (const call of [
    () => device.query(),
    () => device.die(0),
    () => device.acquire(0),
    () => device.release(0),
  ]) {
    assert.throws(call, { name: "FileError", code: "ENOTTY", message: /errno 25.*not a bar_swap/ });
  }
});

test("a read maps from any offset, copies and unmaps", () => {
  const path = join(folder, "window");
  const bytes = Buffer.alloc(3 * 64 * 1024);
  bytes.forEach((_, at) => bytes.writeUInt8((at * 7) & 0xff, at));
  writeFileSync(path, bytes);
  const device = openBarSwap(path);
  for (const [offset, length] of [
    [0, 1],
    [1, 4096],
    [65_535, 2],
    [65_536, 65_536],
    [100_001, 96_607],
  ] as const) {
    assert.deepEqual(
      Buffer.from(device.read(offset, length)),
      bytes.subarray(offset, offset + length),
    );
  }
});

test("a mapping that fails is an error with errno, and no address", () => {
  const device = openBarSwap("/dev/null");
  assert.throws(() => device.read(0, 4096), { name: "FileError", code: "ENODEV" });
  for (const [offset, bytes] of [
    [0, 0],
    [-1, 1],
    [0, SLOT_READ_BYTES_MAX + 1],
  ] as const) {
    assert.throws(() => device.read(offset, bytes), { name: "FileError", code: "EINVAL" });
  }
});
