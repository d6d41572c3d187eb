/** Devices and contexts. */
import assert from "node:assert/strict";
import type { ConformanceCase } from "./bench.ts";
import { conformanceCase, expectOk, whole } from "./bench.ts";

export const DEVICE_CASES: readonly ConformanceCase[] = [
  conformanceCase("every device says sane facts about itself", ({ session: { gpu } }) => {
    assert.ok(gpu.deviceCount >= 1);
    for (let ordinal = 0; ordinal < gpu.deviceCount; ordinal++) {
      const info = expectOk(gpu.deviceInfo(ordinal));
      assert.equal(info.backend, gpu.backend);
      assert.equal(info.ordinal, ordinal);
      assert.ok(info.name.length > 0 && info.driver.length > 0);
      assert.ok(Number.isSafeInteger(info.memoryBytes) && info.memoryBytes >= 2 ** 20);
      assert.ok(info.multiprocessors >= 1);
      assert.ok(info.computeCapability[0] >= 3);
      assert.ok(info.threadsPerBlockMax >= 1024 && info.sharedBytesPerBlockMax >= 48 * 1024);
      if (info.pciAddress !== null) {
        assert.match(info.pciAddress, /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/);
      }
    }
  }),
  conformanceCase("a device that is not there is refused, by number", ({ session: { gpu } }) => {
    for (const ordinal of [-1, gpu.deviceCount, 0.5, NaN]) {
      for (const refused of [gpu.deviceInfo(ordinal), gpu.openContext(ordinal)]) {
        assert.ok(!refused.ok);
        assert.equal(refused.error.code, "no_such_device");
        assert.equal(refused.error.driverCode, 101);
        assert.match(refused.error.message, new RegExp(String(ordinal)));
      }
    }
  }),
  conformanceCase("a context knows its device and its memory", ({ session: { gpu }, context }) => {
    assert.deepEqual(context.device, expectOk(gpu.deviceInfo(0)));
    const { freeBytes, totalBytes } = context.memory();
    assert.ok(freeBytes > 0 && freeBytes <= totalBytes);
    assert.ok(totalBytes <= context.device.memoryBytes);
  }),
  conformanceCase(
    "contexts on one device are independent, and one outlives the other",
    async (bench) => {
      const [first, second] = [bench.openContext(), expectOk(bench.session.gpu.openContext(0))];
      const benchOne = bench.openBench(first);
      const benchTwo = bench.openBench(second);
      const [one, two] = [benchOne.device(1000), benchTwo.device(1000)];
      benchOne.stream.fill(whole(one), 1);
      benchTwo.stream.fill(whole(two), 2);
      await benchTwo.settle();
      await benchOne.settle();
      assert.ok((await benchOne.download(whole(one))).every((byte) => byte === 1));
      assert.ok((await benchTwo.download(whole(two))).every((byte) => byte === 2));
      benchTwo.release();
      second.close();
      assert.ok((await benchOne.download(whole(one))).every((byte) => byte === 1));
    },
  ),
];
