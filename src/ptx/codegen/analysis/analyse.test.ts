import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compileFront } from "../../ir/lower.ts";
import { printAnalysis } from "../print.ts";
import { analyse } from "./analyse.ts";

/** The printed passes of a kernel `k(.param .u64 p, .param .u32 n)` with this body. */
function passesOf(body: string): ReadonlyMap<string, string> {
  const text = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
  .reg .b32 %r<8>; .reg .b64 %x<4>; .reg .f32 %f<4>; .reg .pred %p<4>;
  ${body}
  ret;
}`;
  const module = compileFront(text, "test.ptx");
  assert.ok(module.ok, module.ok ? "" : module.error.message);
  const kernel = module.value.entries[0]?.lower();
  assert.ok(kernel?.ok, kernel?.ok === false ? kernel.error.message : "no kernel");
  const passes = new Map<string, string>();
  printAnalysis(kernel.value, analyse(kernel.value), (pass, printed) => passes.set(pass, printed));
  return passes;
}

const lines = (text: string | undefined): string[] => (text ?? "").split("\n");

suite("storage", () => {
  /** A body, and how register %r1 is held. */
  const cases: [string, string, string][] = [
    ["bits that only floats use", "mov.b32 %r1, 0f3F800000; add.f32 %r1, %r1, %r1;", "f32"],
    ["bits that come from a load", "ld.global.b32 %r1, [%x1]; add.f32 %f1, %r1, %r1;", "f32"],
    ["bits that only arithmetic makes", "add.f32 %r1, %f1, %f1; mov.b32 %r2, %r1;", "f32 lax"],
    ["bits that an integer uses too", "add.f32 %r1, %f1, %f1; add.u32 %r2, %r1, 1;", "i32"],
    ["bits of an address", "add.f32 %r1, %f1, %f1; ld.shared.u32 %r2, [%r1];", "i32"],
    ["bits that are only moved", "ld.global.b32 %r1, [%x1]; st.global.b32 [%x1], %r1;", "i32"],
  ];
  for (const [name, body, expected] of cases) {
    test(`${name}: ${expected}`, () => {
      assert.ok(lines(passesOf(body).get("storage")).includes(`%r1: ${expected}`));
    });
  }

  test("a register that is also loaded holds exact bits", () => {
    const body = "ld.global.f32 %f1, [%x1]; add.f32 %f2, %f1, %f1; add.f32 %f1, %f2, %f2;";
    const printed = lines(passesOf(body).get("storage"));
    assert.ok(printed.includes("%f1: f32"));
    assert.ok(printed.includes("%f2: f32 lax"));
  });
});

suite("invariants", () => {
  test("are functions of parameters and of the block, not of the thread or of memory", () => {
    const body = `ld.param.u32 %r1, [n]; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r1, %r2, 5;
      mov.u32 %r4, %tid.x; add.u32 %r5, %r3, %r4; ld.param.u64 %x1, [p]; ld.global.u32 %r6, [%x1];`;
    assert.deepEqual(passesOf(body).get("invariants"), "%r1 %r2 %r3 %x1");
  });

  test("have one definition without a guard, before every use", () => {
    const body = `ld.param.u32 %r1, [n]; mov.u32 %r1, 7; @%p1 mov.u32 %r2, 3;
      setp.eq.u32 %p2, %r1, 0; @%p2 bra SKIP; mov.u32 %r3, 9; SKIP: add.u32 %r4, %r3, %r2;`;
    assert.deepEqual(passesOf(body).get("invariants"), "");
  });
});

suite("context", () => {
  test("keeps what lives across a barrier, once each, and no invariant", () => {
    const body = `ld.param.u64 %x1, [p]; mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1; mov.u32 %r3, 5;
      bar.sync 0; add.u32 %r2, %r2, %r3; bar.sync 0; st.global.u32 [%x1], %r2;`;
    assert.deepEqual(lines(passesOf(body).get("context")), ["%r2: 64"]);
  });

  test("puts no two slots a multiple of 4 KiB apart", () => {
    const names = [1, 2, 3, 4, 5, 6];
    const body = `${names.map((name) => `add.u32 %r${name}, %tid.x, ${name};`).join("\n")}
      bar.sync 0; ${names.map((name) => `st.global.u32 [%x1], %r${name};`).join("\n")}`;
    const printed = lines(passesOf(body).get("context")).filter((line) => line.startsWith("%r"));
    const offsets = printed.map((line) => Number(line.split(": ")[1]));
    assert.equal(offsets.length, names.length);
    for (const [index, offset] of offsets.entries()) {
      for (const other of offsets.slice(index + 1)) assert.notEqual((other - offset) % 4096, 0);
    }
  });
});
