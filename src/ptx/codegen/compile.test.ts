import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { fuseFloat } from "../interpreter/softfloat.ts";
import { compileFront } from "../ir/lower.ts";
import { compileKernel } from "./compile.ts";
import type { CompiledKernel } from "./image.ts";
import { TestDevice, type TestFault, type TestLaunch } from "./testing.ts";

/** Compiles `k(.param .u64 out)` with this body; `%out` holds the parameter. */
function compile(body: string, declarations = ""): CompiledKernel {
  const text = `.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>; .reg .b64 %x<6>, %out, %mine; .reg .pred %p<4>; .reg .f32 %f<4>;
  ${declarations}
  ld.param.u64 %out, [out];
  mov.u32 %r0, %tid.x; mul.wide.u32 %x0, %r0, 4; add.u64 %mine, %out, %x0;
${body}
  ret;
}
`;
  const module = compileFront(text, "test.ptx");
  assert.ok(module.ok, module.ok ? "" : module.error.message);
  const kernel = module.value.entries[0]?.lower();
  assert.ok(kernel?.ok, kernel?.ok === false ? kernel.error.message : "no kernel");
  return compileKernel(kernel.value);
}

type Outcome = { readonly words: readonly number[]; readonly fault: TestFault | null };

/** Runs a kernel on a buffer of so many zero words. */
function run(kernel: CompiledKernel, words: number, launch: TestLaunch = {}): Outcome {
  const device = new TestDevice();
  const address = device.allocate(new Uint8Array(words * 4));
  const parameters = new Uint8Array(new BigUint64Array([BigInt(address)]).buffer);
  const fault = device.run(kernel, { ...launch, parameters });
  const bytes = device.bytesAt(address, words * 4).slice();
  return { words: [...new Uint32Array(bytes.buffer)], fault };
}

const threads = (count: number): TestLaunch => ({ block: [count, 1, 1] });

suite("barriers", () => {
  test("threads that exited early do not hold up a barrier", () => {
    const kernel = compile(
      `setp.lt.u32 %p0, %r0, 2; @%p0 ret;
       shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %r0;
       bar.sync 0;
       ld.shared.u32 %r3, [s+12]; st.global.u32 [%mine], %r3;`,
      ".shared .b32 s[8];",
    );
    assert.deepEqual(run(kernel, 5, threads(5)), { words: [0, 0, 3, 3, 3], fault: null });
  });

  test("different bar.sync instructions of one barrier are the same barrier", () => {
    const kernel = compile(
      `mov.u32 %r1, 10; and.b32 %r2, %r0, 1; setp.eq.u32 %p0, %r2, 0;
       @%p0 bra EVEN;
       st.shared.u32 [s], %r0; bar.sync 0; add.u32 %r1, %r1, 1; bra DONE;
       EVEN: bar.sync 0; ld.shared.u32 %r1, [s];
       DONE: st.global.u32 [%mine], %r1;`,
      ".shared .b32 s[1];",
    );
    assert.deepEqual(run(kernel, 4, threads(4)).words, [3, 11, 3, 11]);
  });

  test("a loop around a barrier may end at different times in different threads", () => {
    const kernel = compile(
      `mov.u32 %r1, 0;
       AGAIN: atom.shared.add.u32 %r2, [s], 1; bar.sync 0;
       add.u32 %r1, %r1, 1; setp.le.u32 %p0, %r1, %r0; @%p0 bra AGAIN;
       ld.shared.u32 %r3, [s]; st.global.u32 [%mine], %r3;`,
      ".shared .b32 s[1];",
    );
    // After each of its barriers a thread sees what all that were still there had added.
    assert.deepEqual(run(kernel, 3, threads(3)).words, [3, 5, 6]);
  });

  test("registers keep their values across a barrier, of every width and kind", () => {
    const kernel = compile(
      `cvt.rn.f32.u32 %f0, %r0; mul.wide.u32 %x1, %r0, 3; setp.eq.u32 %p0, %r0, 1;
       bar.sync 0;
       cvt.rzi.u32.f32 %r1, %f0; cvt.u32.u64 %r2, %x1; add.u32 %r1, %r1, %r2;
       @%p0 add.u32 %r1, %r1, 100; st.global.u32 [%mine], %r1;`,
    );
    assert.ok(kernel.contextBytes > 0);
    assert.deepEqual(run(kernel, 3, threads(3)).words, [0, 104, 8]);
  });
});

suite("control flow", () => {
  test("an irreducible loop runs from either of its entries", () => {
    const kernel = compile(
      `mov.u32 %r1, 0; mov.u32 %r2, 3; setp.eq.u32 %p0, %r0, 0; @%p0 bra SECOND;
       FIRST: add.u32 %r1, %r1, 1;
       SECOND: add.u32 %r1, %r1, 10; sub.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 0;
       @%p1 bra FIRST;
       st.global.u32 [%mine], %r1;`,
    );
    assert.deepEqual(run(kernel, 2, threads(2)).words, [32, 33]);
  });

  test("a register that is read before it is written is zero, in every thread", () => {
    const kernel = compile(
      `setp.eq.u32 %p0, %r0, 0; @%p0 mov.u32 %r5, 7; bar.sync 0; st.global.u32 [%mine], %r5;`,
    );
    assert.deepEqual(run(kernel, 3, threads(3)).words, [7, 0, 0]);
  });

  test("coordinates count x fastest, then y, then z, in blocks and grid", () => {
    const kernel = compile(
      `mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y;
       mad.lo.u32 %r5, %r2, %r4, %r1; mad.lo.u32 %r5, %r5, %r3, %r0;
       mov.u32 %r6, %ctaid.y; mad.lo.u32 %r7, %r6, 12, %r5;
       mul.wide.u32 %x1, %r7, 4; add.u64 %x1, %out, %x1;
       mad.lo.u32 %r0, %r2, 100, %r0; mad.lo.u32 %r0, %r1, 10, %r0;
       mad.lo.u32 %r0, %r6, 1000, %r0; st.global.u32 [%x1], %r0;`,
    );
    const { words } = run(kernel, 24, { grid: [1, 2, 1], block: [2, 3, 2] });
    const block = [0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121];
    assert.deepEqual(words, [...block, ...block.map((word) => word + 1000)]);
  });

  test("nothing runs for an empty range of blocks", () => {
    const kernel = compile("st.global.u32 [%out], 1;");
    assert.deepEqual(run(kernel, 1, { grid: [0, 1, 1] }).words, [0]);
  });
});

suite("faults", () => {
  /** A body, what it faults with for a buffer of 3 words, and on which line of the body. */
  const cases: [string, string, number | null][] = [
    ["the last word of an allocation is inside", "st.global.u32 [%out+8], 1;", null],
    ["one word further is not", "st.global.u32 [%out+12], 1;", 700],
    ["nor is one before the first", "ld.global.u32 %r1, [%out+-4];", 700],
    ["a vector must be inside as a whole", "ld.global.v2.u32 {%r1, %r2}, [%out+8];", 700],
    ["an odd address is misaligned", "ld.global.u16 %r1, [%out+1];", 716],
    ["a vector is aligned to its whole", "ld.global.v2.u32 {%r1, %r2}, [%out+4];", 716],
    ["null is nobody's", "mov.u64 %x1, 0; ld.global.u32 %r1, [%x1];", 700],
    [
      "4 GiB further is another address",
      "add.u64 %x1, %out, 4294967296; ld.global.u32 %r1, [%x1];",
      700,
    ],
    ["a negative address too", "mov.u64 %x1, -8; st.u32 [%x1], %r1;", 700],
    ["the end of shared memory is inside", "mov.u32 %r1, s; ld.shared.u32 %r2, [%r1+12];", null],
    ["past it is not", "mov.u32 %r1, s; ld.shared.u32 %r2, [%r1+16];", 700],
    ["before it is not", "mov.u32 %r1, s; st.shared.u32 [%r1+-4], %r2;", 700],
    ["shared memory may be misaligned too", "mov.u32 %r1, s; ld.shared.u32 %r2, [%r1+2];", 716],
    [
      "a generic address may be shared",
      "mov.u64 %x1, s; cvta.shared.u64 %x1, %x1; st.u32 [%x1+12], 5;",
      null,
    ],
    ["but not past its end", "mov.u64 %x1, s; cvta.shared.u64 %x1, %x1; st.u32 [%x1+16], 5;", 700],
    ["local memory is the thread's own", "mov.u64 %x1, l; ld.local.u32 %r1, [%x1+12];", null],
    ["and no more than that", "mov.u64 %x1, l; ld.local.u32 %r1, [%x1+16];", 700],
    [
      "a generic address may be local",
      "mov.u64 %x1, l; cvta.local.u64 %x1, %x1; st.u32 [%x1+8], 5;",
      null,
    ],
    ["an atomic is checked", "atom.global.add.u32 %r1, [%out+12], 1;", 700],
    ["an unaligned atomic faults and does not trap", "atom.global.add.u32 %r1, [%out+2], 1;", 716],
    ["trap is an illegal instruction", "trap;", 715],
  ];
  for (const [name, body, code] of cases) {
    test(name, () => {
      const kernel = compile(body, ".shared .b32 s[4]; .local .align 16 .b8 l[16];");
      assert.equal(run(kernel, 3).fault?.code ?? null, code);
    });
  }

  test("a fault names thread, block, address, bytes, line and column", () => {
    const kernel = compile("  setp.eq.u32 %p0, %r0, 5;\n  @%p0 st.global.u16 [%out+41], %r0;");
    const device = new TestDevice();
    const address = device.allocate(new Uint8Array(64));
    const parameters = new Uint8Array(new BigUint64Array([BigInt(address)]).buffer);
    const fault = device.run(kernel, { grid: [3, 1, 1], block: [8, 1, 1], parameters });
    assert.deepEqual(fault, {
      code: 716,
      line: 11,
      column: 8,
      address: BigInt(address + 41),
      thread: 5,
      block: 0,
      bytes: 2,
    });
  });
});

suite("compileKernel", () => {
  test("makes plain data that can be posted, and imports only what is used", () => {
    const plain = compile("st.global.u32 [%mine], 1;");
    assert.deepEqual(structuredClone(plain), plain);
    assert.deepEqual(plain.imports, []);
    const timed = compile("mov.u64 %x1, %globaltimer; st.global.u32 [%mine], 1;");
    assert.deepEqual(timed.imports, ["clock"]);
    assert.deepEqual(run(timed, 1).words, [1]);
  });

  test("prints the result of every analysis", () => {
    const module = compileFront(
      ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { bar.sync 0; ret; }",
      "test.ptx",
    );
    assert.ok(module.ok);
    const kernel = module.value.entries[0]?.lower();
    assert.ok(kernel?.ok);
    const passes: string[] = [];
    compileKernel(kernel.value, { trace: (pass) => passes.push(pass) });
    const order = ["liveness", "regions", "dominators", "structure", "storage", "invariants"];
    assert.deepEqual(passes, [...order, "context"]);
  });

  test("keeps the bits of a NaN that is only moved, and makes computed ones canonical", () => {
    const kernel = compile(
      `mov.b32 %r1, 0x7f812345; st.global.u32 [%out], %r1; ld.global.f32 %f0, [%out];
       st.global.f32 [%out+4], %f0; add.f32 %f1, %f0, %f0; st.global.f32 [%out+8], %f1;
       mov.b32 %r2, %f1; st.global.u32 [%out+12], %r2;`,
    );
    const { words } = run(kernel, 4);
    assert.deepEqual(words, [0x7f812345, 0x7f812345, 0x7fffffff, 0x7fffffff]);
  });
});

/** Threads of one launch: each does one fma. */
const FMA_THREADS = 200;

/** Triples of f32 bits: an addend near the product, half a unit away, or a subnormal result. */
const fmaTriples = fc.array(
  fc
    .tuple(
      fc.integer({ min: 60 * 2 ** 23, max: 190 * 2 ** 23 }),
      fc.integer({ min: 60, max: 190 }).map((exponent) => exponent * 2 ** 23 + 1),
      fc.boolean(),
      fc.integer({ min: -30, max: 30 }),
    )
    .map(([a, b, isNegative, scale]) => {
      const bits = Uint32Array.of(a, b, 0);
      const floats = new Float32Array(bits.buffer);
      const product = (floats[0] ?? 0) * (floats[1] ?? 0);
      floats[2] = product * 2 ** scale * (isNegative ? -1 : 1);
      return bits;
    }),
  { minLength: FMA_THREADS, maxLength: FMA_THREADS },
);

suite("fma.rn.f32, as written inline", () => {
  const kernel = compile(
    `mul.wide.u32 %x1, %r0, 16; add.u64 %x1, %out, %x1;
     ld.global.f32 %f0, [%x1]; ld.global.f32 %f1, [%x1+4]; ld.global.f32 %f2, [%x1+8];
     fma.rn.f32 %f3, %f0, %f1, %f2; st.global.f32 [%x1+12], %f3;`,
  );

  const check = (triples: readonly Uint32Array[]): void => {
    const given = new Uint32Array(FMA_THREADS * 4);
    for (const [index, triple] of triples.entries()) given.set(triple, index * 4);
    const device = new TestDevice();
    const address = device.allocate(new Uint8Array(given.buffer));
    const parameters = new Uint8Array(new BigUint64Array([BigInt(address)]).buffer);
    assert.equal(device.run(kernel, { block: [FMA_THREADS, 1, 1], parameters }), null);
    const found = new Uint32Array(device.bytesAt(address, given.byteLength).slice().buffer);
    const unit = { type: "f32", rounding: "rn", flushSubnormals: false } as const;
    for (const [index, [a = 0, b = 0, c = 0]] of triples.entries()) {
      const expected = fuseFloat(unit, [BigInt(a), BigInt(b), BigInt(c)]);
      assert.equal(BigInt(found[index * 4 + 3] ?? 0), expected, `${a} ${b} ${c}`);
    }
  };

  test("is exact", () => {
    fc.assert(fc.property(fmaTriples, check), { numRuns: 20 });
  });
});
