import assert from "node:assert/strict";
import { test } from "node:test";
import { compileFront } from "../ir/lower.ts";
import type { Kernel } from "../ir/types.ts";
import { interpret } from "./interpreter.ts";
import { createPlainMemory } from "./memory.ts";
import type { Outcome } from "./outcome.ts";

const HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n";

function kernelOf(text: string): Kernel {
  const module = compileFront(HEAD + text, "t.ptx");
  const kernel = module.ok ? module.value.entries[0]?.lower() : undefined;
  assert.ok(kernel?.ok === true);
  return kernel.value;
}

function run(text: string, stepsMax = 1000): Outcome {
  const launch = {
    grid: [2, 1, 1],
    block: [4, 1, 1],
    dynamicSharedBytes: 0,
    parameters: new Uint8Array(16),
  } as const;
  return interpret({ kernel: kernelOf(text), launch, memory: createPlainMemory(), stepsMax });
}

test("an endless loop ends at the step limit, and one without instructions too", () => {
  const loop = ".entry k() { .reg .b32 %x; again: add.u32 %x, %x, 1; bra again; }";
  assert.equal(run(loop).kind, "stepLimit");
  assert.equal(run(".entry k() { again: bra again; }").kind, "stepLimit");
  assert.equal(run(".entry k() { again: bar.sync 0; bra again; }").kind, "stepLimit");
  // Control: the same instructions without the loop.
  assert.deepEqual(run(".entry k() { .reg .b32 %x; add.u32 %x, %x, 1; bar.sync 0; }"), {
    kind: "finished",
    steps: 8 * 3,
  });
});

test("a fault names its line, column, address, bytes, thread and block", () => {
  const text = `.entry k() {
	.reg .pred %p; .reg .b32 %t, %b; .reg .b64 %a;
	mov.u32 %t, %tid.x;
	mov.u32 %b, %ctaid.x;
	setp.ne.u32 %p, %b, 1;
	@%p exit;
	mov.u64 %a, 0x7fff0000;
	setp.eq.u32 %p, %t, 3;
	@%p st.global.v2.u32 [%a+8], {%t, %t};
}`;
  assert.deepEqual(run(text), {
    kind: "fault",
    fault: {
      code: 700,
      line: 12,
      column: 6,
      address: 0x7fff0008n,
      bytes: 8,
      thread: 3,
      block: 1,
    },
  });
});

test("allocations do not touch: the byte behind one belongs to none", () => {
  const memory = createPlainMemory();
  const first = memory.allocate(new Uint8Array(128));
  const second = memory.allocate(new Uint8Array(8));
  assert.ok(memory.isAllocated(first, 128));
  assert.ok(!memory.isAllocated(first + 128n, 1));
  assert.ok(!memory.isAllocated(second - 1n, 1));
  assert.ok(!memory.isAllocated(second + 4n, 8));
});
