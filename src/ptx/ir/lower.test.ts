import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compileFront, readSignatures } from "./lower.ts";
import { OPCODES } from "./opcodes/table.ts";
import { printKernel } from "./print.ts";
import type { Kernel, PtxModule } from "./types.ts";
import { verifyKernel } from "./verify.ts";

const HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n";

function moduleOf(text: string): PtxModule {
  const module = compileFront(HEAD + text, "t.ptx");
  assert.ok(module.ok, module.ok ? "" : module.error.message);
  return module.value;
}

function kernelOf(text: string): Kernel {
  const kernel = moduleOf(text).entries[0]?.lower();
  assert.ok(kernel?.ok === true, kernel?.ok === false ? kernel.error.message : "no kernel");
  verifyKernel(kernel.value);
  return kernel.value;
}

/** The blocks of the printed kernel, without its first line. */
const bodyOf = (text: string): string =>
  printKernel(kernelOf(text)).split("\n").slice(1).join("\n");

test("guarded ends become branches around blocks, and unreachable blocks go", () => {
  const text = `.entry k() {
	.reg .pred %p;
	.reg .b32 %x;
	@%p bar.sync 0;
	@!%p exit;
	@%p bra over;
	add.u32 %x, %x, 1;
over:
	ret;
	add.u32 %x, %x, 2;
}`;
  assert.equal(
    bodyOf(text),
    `b0:
  branch %p ? b3 : b2
b1:
  exit
b2:
  branch !%p ? b5 : b4
b3:
  barrier, then b2
b4:
  branch %p ? b1 : b6
b5:
  exit
b6:
  %x = add.u32 %x, 0x1
  jump b1
`,
  );
});

test("an instruction that cannot be run costs only its own kernel, and says so each time", () => {
  const module = moduleOf(`
.entry bad() { .reg .b32 %r<2>;
	bfe.u32 %r1, %r0, 1, 2;
}
.entry good() { ret; }`);
  const [bad, good] = module.entries;
  const first = bad?.lower();
  assert.ok(first?.ok === false);
  const { code, fileName, line, column } = first.error;
  const expected = { code: "unsupported_instruction", fileName: "t.ptx", line: 6, column: 2 };
  assert.deepEqual({ code, fileName, line, column }, expected);
  assert.equal(bad?.lower(), first);
  assert.ok(good?.lower().ok);
});

suite("layout", () => {
  test("parameters are aligned to their own size, structures to .align", () => {
    const signatures = readSignatures(
      `${HEAD}.extern .func f(.param .b32 x);
.entry k(.param .u8 a, .param .f64 b, .param .align 4 .b8 c[6], .param .u16 d, .param .texref t)
{ anything.at.all %x; }`,
      "t.ptx",
    );
    assert.ok(signatures.ok);
    assert.deepEqual(signatures.value, [
      {
        name: "k",
        parameters: [
          { name: "a", type: "u8", offset: 0, bytes: 1 },
          { name: "b", type: "f64", offset: 8, bytes: 8 },
          { name: "c", type: "b8", offset: 16, bytes: 6 },
          { name: "d", type: "u16", offset: 22, bytes: 2 },
          { name: "t", type: "b8", offset: 24, bytes: 8 },
        ],
        parameterBytes: 32,
      },
    ]);
  });

  test("shared memory holds what the kernel uses, and dynamic arrays begin behind it", () => {
    const { sharedBytes, localBytes, blocks } = kernelOf(`
.shared .align 4 .b8 unused[100];
.shared .align 8 .b8 used[20];
.extern .shared .align 16 .b8 dynamic[];
.entry k() {
	.reg .b32 %r;
	.local .align 4 .b8 stack[20];
	ld.shared.u32 %r, [dynamic];
	ld.shared.u32 %r, [used];
	ld.local.u32 %r, [stack];
}`);
    assert.deepEqual({ sharedBytes, localBytes }, { sharedBytes: 32, localBytes: 32 });
    const offsets = blocks[0]?.instructions.map((one) =>
      one.op === "load" && one.address.base.kind === "symbol" ? one.address.base.symbol.offset : -1,
    );
    assert.deepEqual(offsets, [32, 0, 0]);
  });

  test("module data is one segment, with the places of addresses in it", () => {
    const { data } = moduleOf(`
.const .u8 a = 1;
.global .align 8 .u32 b[2][2] = {{1, 2}, {3}};
.global .u64 c[2] = {b+4, generic(c)};
.global .f32 d = -1.5;`);
    const bytes = new Uint8Array(44);
    bytes.set([1], 0);
    bytes.set([1, 0, 0, 0, 2, 0, 0, 0, 3], 8);
    bytes.set([0, 0, 0xc0, 0xbf], 40);
    assert.deepEqual(data.bytes, bytes);
    assert.deepEqual(data.relocations, [
      { offset: 24, addend: 12 },
      { offset: 32, addend: 24 },
    ]);
  });
});

suite("module errors", () => {
  const cases: readonly [name: string, text: string, message: RegExp][] = [
    ["twice defined", ".entry k() { ret; } .entry k() { ret; }", /'k' is defined twice/],
    ["too many values", ".global .u32 a[2] = {1, 2, 3};", /at most 2 values in braces/],
    ["a float in an integer", ".global .u32 a = 1.5;", /no initial value of type .u32/],
    ["a strange alignment", ".global .align 3 .u32 a;", /'.align 3' is not a power of two/],
    ["a variable of predicates", ".global .pred a;", /cannot have type .pred/],
    ["an address of nothing", ".global .u64 a = b;", /the address of 'b' cannot be an initial/],
    ["a huge array", ".global .b64 a[100000000];", /'a' is larger than/],
    ["huge parameters", ".entry k(.param .b8 a[40000]) { ret; }", /larger than 32764 bytes/],
  ];
  for (const [name, text, message] of cases) {
    test(name, () => {
      const module = compileFront(HEAD + text, "t.ptx");
      assert.ok(!module.ok);
      assert.match(module.error.message, message);
    });
  }
  test("control: the same things done right", () => {
    moduleOf(".global .align 4 .u32 a[2] = {1, 2}; .entry k(.param .b8 b[4000]) { ret; }");
  });
});

test("shared and local memory have the device's own limits", () => {
  const cases = [
    [".shared .b8 x[232449]; st.shared.u32 [x], 0;", /shared memory has 232464 bytes/],
    [".local .b8 x[524289]; st.local.u32 [x], 0;", /local memory has 524304 bytes/],
  ] as const;
  for (const [body, message] of cases) {
    const kernel = moduleOf(`.entry k() { ${body} }`).entries[0]?.lower();
    assert.ok(kernel?.ok === false);
    assert.equal(kernel.error.code, "limit_exceeded");
    assert.match(kernel.error.message, message);
  }
  // Control: at the limits.
  kernelOf(".entry k() { .shared .b8 x[232448]; st.shared.u32 [x], 0; }");
  kernelOf(".entry k() { .local .b8 x[524288]; st.local.u32 [x], 0; }");
});

test("a kernel's block limit comes from .maxntid and .reqntid", () => {
  const limits = [
    [".entry k() { ret; }", null],
    [".entry k() .maxntid 16, 8, 2 { ret; }", 256],
    [".entry k() .maxntid 512 .reqntid 128, 2 .minnctapersm 2 { ret; }", 256],
  ] as const;
  for (const [text, expected] of limits) assert.equal(kernelOf(text).threadsMax, expected);
});

test("every opcode of the table has a form that can be run", () => {
  for (const [opcode, forms] of OPCODES) {
    assert.ok(
      forms.some(({ build }) => build !== null),
      opcode,
    );
  }
});

suite("verifyKernel() dies on IR that breaks a rule", () => {
  const good = kernelOf(
    ".entry k() { .reg .b32 %a, %b; .reg .b64 %w; add.u32 %a, %b, 1; mov.b64 %w, 0; }",
  );
  const [block] = good.blocks;
  assert.ok(block !== undefined);
  const [add] = block.instructions;
  assert.ok(add?.op === "binary");
  const { terminator } = block;
  const position = { line: 1, column: 1 };
  const wide = good.registers.findIndex(({ name }) => name === "%w");
  const broken: readonly [rule: RegExp, kernel: Kernel][] = [
    [
      /register 9 exists/,
      { ...good, blocks: [{ instructions: [{ ...add, destination: 9 }], terminator }] },
    ],
    [
      /as wide as/,
      { ...good, blocks: [{ instructions: [{ ...add, destination: wide }], terminator }] },
    ],
    [
      /bit pattern of a .u32/,
      {
        ...good,
        blocks: [
          { instructions: [{ ...add, right: { kind: "constant", bits: -1n } }], terminator },
        ],
      },
    ],
    [
      /block 7 exists/,
      { ...good, blocks: [{ ...block, terminator: { kind: "jump", target: 7, position } }] },
    ],
    [/every block can be reached/, { ...good, blocks: [block, block] }],
    [/multiples of 16/, { ...good, sharedBytes: 4 }],
  ];
  for (const [rule, kernel] of broken) {
    test(String(rule), () => {
      assert.throws(() => {
        verifyKernel(kernel);
      }, rule);
    });
  }
  test("control: the kernel that they were made from", () => {
    verifyKernel(good);
  });
});
