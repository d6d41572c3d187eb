import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { reportLibcuda, reportLibcudaFile } from "../../src/gpu-cuda/mod.ts";
import { fakeLibcuda } from "./fake-libcuda.ts";
import { clearScript, script, skip } from "./fake-session.ts";

afterEach(clearScript);

test("reportLibcuda() lists the devices of a driver that starts", { skip }, () => {
  script("DEVICES", "3");
  const report = reportLibcuda(fakeLibcuda());
  assert.ok(report.state === "loaded");
  assert.deepEqual([report.initCode, report.devices.length], [0, 3]);
  assert.ok(report.cudaVersion !== null && report.cudaVersion > 0);
  for (const [at, { ordinal, name, pciAddress }] of report.devices.entries()) {
    assert.equal(ordinal, at);
    assert.notEqual(name, "");
    assert.match(pciAddress, /^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:/);
  }
});

test("reportLibcuda() gives the code of a driver that does not start", { skip }, () => {
  script("FAIL", "cuInit=34");
  const report = reportLibcuda(fakeLibcuda());
  assert.ok(report.state === "loaded");
  assert.deepEqual([report.initCode, report.devices], [34, []]);
});

test("reportLibcuda() tells a library that lacks a function from one that is not there", (context) => {
  const missing = reportLibcuda("/nonexistent/libcuda.so.1");
  assert.ok(missing.state === "not_loaded" && missing.message.includes("/nonexistent"));
  if (skip !== false) {
    context.skip(skip);
    return;
  }
  const incomplete = reportLibcuda(fakeLibcuda("WITHOUT_STREAM_QUERY"));
  assert.ok(incomplete.state === "incomplete" && incomplete.message.includes("cuStreamQuery"));
});

test("reportLibcudaFile() asks for the version and starts nothing", { skip }, () => {
  // The fake would tell: its cuInit fails, and what was not called fails nobody.
  script("FAIL", "cuInit=100");
  const report = reportLibcudaFile(fakeLibcuda());
  assert.ok(report.state === "loaded");
  assert.deepEqual([report.initCode, report.devices], [null, []]);
  assert.ok(report.cudaVersion !== null && report.cudaVersion > 0);
});
