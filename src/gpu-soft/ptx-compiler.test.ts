import assert from "node:assert/strict";
import { test } from "node:test";
import { waitUntilIdle } from "../gpu/mod.ts";
import { openSoftGpu } from "./open-soft-gpu.ts";
import { ptxCompiler } from "./ptx-compiler.ts";
import { readWords, unwrap } from "./test-support.ts";

const HEADER = ".version 7.0\n.target sm_70\n.address_size 64\n";

const entry = (name: string, body: string): string =>
  `.visible .entry ${name}(.param .u64 words)\n{\n${body}\nret;\n}\n`;

const RIGHT = entry("right", "");
/** PTX's own, but nothing that a processor without textures has. */
const UNSUPPORTED = entry("textured", ".reg .b32 %r<2>;\ntxq.width.b32 %r1, [words];");
const INVALID = entry("wrong", "mov.u32 %r9, 1;");

type Case = readonly [what: string, ptx: string, code: string | null, message: RegExp];

const LOADS: readonly Case[] = [
  ["a kernel", HEADER + RIGHT, null, /^$/],
  ["no kernel", HEADER, null, /^$/],
  ["one kernel of two that cannot be run", HEADER + UNSUPPORTED + RIGHT, null, /^$/],
  ["no kernel that can be run", HEADER + UNSUPPORTED, "unsupported_instruction", /^t\.ptx:7:1: /],
  ["one kernel of two that is wrong", HEADER + RIGHT + INVALID, "invalid_ptx", /^t\.ptx:11:\d+: /],
  ["no PTX", "int main", "invalid_ptx", /^t\.ptx:1:1: /],
  ["PTX to come", ".version 99.0\n", "unsupported_ptx_version", /^t\.ptx:1:\d+: /],
];

test("PTX is refused by file, line and column, and only where none of it is of use", () => {
  for (const [what, ptx, code, message] of LOADS) {
    const loaded = ptxCompiler.load(ptx, "t.ptx");
    assert.equal(loaded.ok ? null : loaded.error.code, code, what);
    assert.match(loaded.ok ? "" : loaded.error.message, message, what);
  }
});

test("the kernel that cannot be run is refused when it is asked for, the other one compiles", () => {
  const program = unwrap(ptxCompiler.load(HEADER + UNSUPPORTED + RIGHT, "t.ptx"));
  assert.deepEqual(program.kernelNames, ["textured", "right"]);
  const refused = program.compile("textured");
  assert.ok(!refused.ok);
  const { code, driverCode, call, message } = refused.error;
  assert.deepEqual([code, driverCode], ["unsupported_instruction", 218]);
  assert.equal(call, "cuModuleGetFunction");
  assert.match(message, /txq/);
  assert.equal(unwrap(program.compile("right")).name, "right");
});

/**
 * Block b spins until block b - 1 has written words[b], then writes words[b + 1]: a chain that only
 * ends if every block is started after all before it, on whatever worker.
 */
const CHAIN = entry(
  "chain",
  `.reg .pred %p1; .reg .b32 %r<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [words];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
AGAIN:
  ld.volatile.global.u32 %r2, [%rd3];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra AGAIN;
  add.u32 %r2, %r2, 1;
  st.volatile.global.u32 [%rd3+4], %r2;`,
);

for (const workers of [1, 4]) {
  test(`blocks may wait for blocks before them (${workers} workers)`, async () => {
    const blocks = 2000;
    const context = unwrap(openSoftGpu({ devices: 1, workers }).openContext(0));
    const kernel = unwrap(unwrap(context.loadModule(HEADER + CHAIN, "t.ptx")).kernel("chain"));
    const buffer = unwrap(context.allocate(4 * (blocks + 1)));
    const stream = context.createStream();
    stream.fill({ buffer, offset: 0, bytes: 1 }, 1);
    const parameters = new Uint8Array(new BigUint64Array([buffer.address]).buffer);
    const shape = { grid: [blocks, 1, 1], block: [1, 1, 1], sharedBytes: 0 } as const;
    unwrap(stream.launch({ kernel, ...shape, parameters }));
    try {
      assert.equal(await waitUntilIdle(stream, { timeoutMs: 30_000 }), "done");
      const words = await readWords(context, buffer);
      assert.deepEqual(
        [...words],
        [...words.keys()].map((block) => block + 1),
      );
    } finally {
      context.close();
    }
  });
}
