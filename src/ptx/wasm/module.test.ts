import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code } from "./code.ts";
import { ModuleBuilder } from "./module.ts";
import { MEMORY_OPCODE, PLAIN_OPCODE, type MemoryOpcode, type PlainOpcode } from "./opcode.ts";
import type { FunctionType, ValueType } from "./value-type.ts";

const UNARY: FunctionType = { parameters: ["i32"], results: ["i32"] };

/** Instantiates a module with one exported function, `run`. */
function instantiate(
  type: FunctionType,
  write: (code: Code) => void,
): (...v: unknown[]) => unknown {
  const module = new ModuleBuilder();
  const index = module.reserve(type);
  const code = new Code(type.parameters);
  write(code);
  module.define(index, code);
  module.exports.function("run", index);
  const instance = new WebAssembly.Instance(new WebAssembly.Module(module.encode()));
  return instance.exports["run"] as (...v: unknown[]) => unknown;
}

suite("ModuleBuilder", () => {
  test("writes the bytes of a small module as the specification has them", () => {
    const module = new ModuleBuilder();
    const index = module.reserve({ parameters: ["i32", "i32"], results: ["i32"] });
    module.define(index, new Code(["i32", "i32"]).get(0).get(1).op("i32.add"));
    module.exports.function("add", index);
    assert.equal(
      Buffer.from(module.encode()).toString("hex"),
      "0061736d01000000" + // header
        "01070160027f7f017f" + // type (i32, i32) -> i32
        "03020100" + // function 0 has type 0
        "070701036164640000" + // export "add"
        "0a09010700200020016a0b", // code
    );
  });

  test("counts imported functions before its own, and shares equal types", () => {
    const module = new ModuleBuilder();
    const imported = module.importFunction("env", "f", UNARY);
    module.imports.sharedMemory("env", "memory", { minimum: 1, maximum: 2 });
    const own = module.reserve(UNARY);
    module.define(own, new Code(["i32"]).get(0).call(imported));
    module.exports.function("g", own);
    assert.deepEqual([imported, own], [0, 1]);
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true });
    const imports = { env: { f: (x: number) => x + 1, memory } };
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.encode()), imports);
    assert.equal((exports["g"] as (x: number) => number)(41), 42);
  });

  test("refuses an import after a function, and a function without a body", () => {
    const module = new ModuleBuilder();
    module.reserve(UNARY);
    assert.throws(() => module.importFunction("env", "f", UNARY), /imports come before functions/);
    assert.throws(() => module.encode(), /function 0 has a body/);
  });
});

suite("Code", () => {
  test("nests blocks, and branches by label from any depth", () => {
    const run = instantiate(UNARY, (code) => {
      const sum = code.local("i32");
      const done = code.block();
      const again = code.loop();
      code.get(0).op("i32.eqz").branchIf(done);
      code.get(sum).get(0).op("i32.add").set(sum);
      code.get(0).i32(1).op("i32.sub").set(0).branch(again);
      code.end().end().get(sum);
    });
    assert.equal(run(10), 55);
  });

  test("picks by branch table, the last label for what is past it", () => {
    const run = instantiate(UNARY, (code) => {
      const other = code.block();
      const second = code.block();
      const first = code.block();
      code.get(0).branchTable([first, second], other);
      code.end().i32(10).op("return").end().i32(20).op("return").end().i32(30);
    });
    assert.deepEqual(
      [0, 1, 2, -1].map((x) => run(x)),
      [10, 20, 30, 30],
    );
  });

  test("writes constants of every type by their bits", () => {
    const of = (type: ValueType, write: (code: Code) => void): unknown =>
      instantiate({ parameters: [], results: [type] }, write)();
    assert.equal(
      of("i32", (code) => code.i32(0xffffffff)),
      -1,
    );
    assert.equal(
      of("i64", (code) => code.i64(0xffffffffffffffffn)),
      -1n,
    );
    assert.equal(
      of("i64", (code) => code.i64(-5)),
      -5n,
    );
    assert.equal(
      of("f32", (code) => code.f32(0x3f800000)),
      1,
    );
    assert.equal(
      of("f64", (code) => code.f64(-0.1)),
      -0.1,
    );
    assert.equal(
      of("f64", (code) => code.f64(0x7ff0000000000000n)),
      Infinity,
    );
  });
});

/** What a plain instruction pops and pushes, from its name. */
function signature(name: PlainOpcode): FunctionType | null {
  const [left = "", right = ""] = name.split(".");
  const type = left as ValueType;
  const source = /_(i32|i64|f32|f64)(_[su])?$/.exec(right)?.[1] as ValueType | undefined;
  if (right === "") return null;
  if (source !== undefined) return { parameters: [source], results: [type] };
  if (right === "eqz") return { parameters: [type], results: ["i32"] };
  if (/^(clz|ctz|popcnt|abs|neg|ceil|floor|trunc|nearest|sqrt|extend\d+_s)$/.test(right)) {
    return { parameters: [type], results: [type] };
  }
  const comparison = /^(eq|ne|lt|gt|le|ge)(_[su])?$/.test(right);
  return { parameters: [type, type], results: [comparison ? "i32" : type] };
}

suite("opcodes", () => {
  test("every plain instruction has the type that its name says, and validates", () => {
    for (const name of Object.keys(PLAIN_OPCODE) as PlainOpcode[]) {
      const type = signature(name);
      if (type === null) continue;
      const run = instantiate(type, (code) => {
        type.parameters.forEach((_, index) => code.get(index));
        code.op(name);
      });
      assert.equal(typeof run, "function", name);
    }
  });

  test("every memory instruction validates against a shared memory", () => {
    for (const name of Object.keys(MEMORY_OPCODE) as MemoryOpcode[]) {
      const module = new ModuleBuilder();
      module.imports.sharedMemory("env", "memory", { minimum: 1, maximum: 1 });
      const index = module.reserve({ parameters: [], results: [] });
      const code = new Code([]);
      writeAccess(code, name);
      module.define(index, code);
      assert.ok(WebAssembly.validate(module.encode()), name);
    }
  });
});

function writeAccess(code: Code, name: MemoryOpcode): void {
  const zero = (type: string): Code => (type === "i64" ? code.i64(0) : code.i32(0));
  const [type = ""] = name.split(".");
  code.i32(0);
  if (name.startsWith("memory.atomic")) {
    if (name === "memory.atomic.notify") code.i32(1).memory(name, 8).op("drop");
    else
      zero(name.endsWith("64") ? "i64" : "i32")
        .i64(0)
        .memory(name, 8)
        .op("drop");
    return;
  }
  const store = name.includes("store");
  if (name.includes("cmpxchg")) zero(type);
  if (name.includes("rmw") || (store && type.startsWith("i"))) zero(type);
  else if (store && type === "f32") code.f32(0);
  else if (store) code.f64(0);
  code.memory(name, 8);
  if (!store) code.op("drop");
}
