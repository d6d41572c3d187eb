// The committed PTX is what its source makes, and it stays loadable on the oldest driver.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  makeBasePtx,
  NVCC_RELEASE,
  nvccRelease,
  readBasePtx,
  setBackPtx,
} from "../tools/make-kernels.ts";

test("kernels/base.ptx is what base.cu makes", (context) => {
  const release = nvccRelease();
  if (release !== NVCC_RELEASE) {
    context.skip(`needs nvcc ${NVCC_RELEASE}; here: ${release ?? "none"}`);
    return;
  }
  // Not assert.equal: its report would be both texts whole.
  assert.ok(readBasePtx() === makeBasePtx(), "stale: run node dist/tools/make-kernels.js");
});

test("kernels/base.ptx asks for PTX ISA 4.2 and sm_30 only", () => {
  assert.match(readBasePtx(), /^\.version 4\.2\n\.target sm_30\n\.address_size 64$/m);
});

test("setBackPtx() refuses an instruction that sm_30 does not have", () => {
  const wrap = (line: string): string => `.version 9.0\n.address_size 64\n\t${line}\n`;
  assert.doesNotThrow(() => setBackPtx(wrap("ld.global.f32 \t%f1, [%rd6];")));
  for (const line of [
    "ld.global.nc.f32 \t%f1, [%rd6];",
    "@%p1 shfl.sync.down.b32 \t%r1, %r2, 1, 31, -1;",
  ]) {
    assert.throws(() => setBackPtx(wrap(line)), /not on the list/);
  }
});
