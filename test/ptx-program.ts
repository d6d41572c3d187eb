/**
 * Random PTX programs for differential tests. A program is made from one number and always ends:
 * loops count down. It uses nested and divergent control flow, early exits, barriers anywhere,
 * jumps into loops, guarded instructions, shared, local and global memory, and atomics. Both
 * engines run the threads between two barriers in order, so that even races come out the same.
 */

/** Threads of a block and blocks of the grid that programs are made for. */
export const PROGRAM_THREADS = 37;
export const PROGRAM_BLOCKS = 2;

/** Bytes of results of one thread, of the input that all threads read, and of shared memory. */
export const RESULT_BYTES = 192;
export const INPUT_BYTES = 1024;
const SHARED_WORDS = 64;
const LOCAL_BYTES = 64;

/** Statements are nested this deep at most. */
const DEPTH_MAX = 3;

type Random = (below: number) => number;

/** A small generator of uniform numbers (mulberry32). */
function randomFrom(seed: number): Random {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

const COUNTS = { r: 6, x: 4, h: 3, f: 5, d: 3, p: 4, b: 3 } as const;
type Kind = keyof typeof COUNTS;

/** `%b` registers are of bits and hold integers and floats in turn, as nvcc uses them. */
const REGISTER_TYPE: Readonly<Record<Kind, string>> = {
  r: "u32",
  x: "u64",
  h: "u16",
  f: "f32",
  d: "f64",
  p: "pred",
  b: "b32",
};

/** Instructions by template: `#r` is any register of that kind, `$i` a small constant. */
const TEMPLATES: readonly string[] = [
  ...["add.u32", "sub.u32", "mul.lo.u32", "mul.hi.s32", "and.b32", "or.b32", "xor.b32"].map(
    (name) => `${name} #r, #r, #r;`,
  ),
  ...["min.s32", "max.u32", "div.u32", "rem.s32", "add.sat.s32", "div.s32", "mul.hi.u32"].map(
    (name) => `${name} #r, #r, #r;`,
  ),
  ...["shl.b32", "shr.u32", "shr.s32"].flatMap((name) => [
    `${name} #r, #r, #r;`,
    `${name} #r, #r, $i;`,
  ]),
  ...["add.u64", "mul.lo.u64", "mul.hi.u64", "mul.hi.s64", "xor.b64", "min.s64", "rem.u64"].map(
    (name) => `${name} #x, #x, #x;`,
  ),
  ...["shl.b64 #x, #x, #r;", "shr.s64 #x, #x, $i;", "mad.wide.s32 #x, #r, #r, #x;"],
  ...["mul.wide.u32 #x, #r, #r;", "mad.lo.u32 #r, #r, #r, #r;", "mad.hi.u32 #r, #r, #r, #r;"],
  ...["popc.b64 #r, #x;", "clz.b32 #r, #r;", "brev.b32 #r, #r;", "not.b32 #r, #r;"],
  ...["neg.s32 #r, #r;", "abs.s32 #r, #r;", "cnot.b32 #r, #r;", "brev.b64 #x, #x;"],
  ...["add.u16", "mul.lo.u16", "div.s16", "rem.u16", "min.s16", "shr.s16"].map((name) =>
    name === "shr.s16" ? `${name} #h, #h, $i;` : `${name} #h, #h, #h;`,
  ),
  ...["mul.wide.s16 #r, #h, #h;", "mul.hi.u16 #h, #h, #h;", "neg.s16 #h, #h;"],
  ...["add.f32", "sub.f32", "mul.f32", "min.f32", "max.f32", "div.rn.f32"].map(
    (name) => `${name} #f, #f, #f;`,
  ),
  ...["add.rz.f32", "sub.rm.f32", "mul.rp.f32", "mul.rm.f32", "div.rz.f32", "add.ftz.f32"].map(
    (name) => `${name} #f, #f, #f;`,
  ),
  ...["mul.sat.f32", "mul.ftz.f32", "div.rp.f32"].map((name) => `${name} #f, #f, #f;`),
  ...["rn", "rz", "rm", "rp"].flatMap((mode) => [
    `fma.${mode}.f32 #f, #f, #f, #f;`,
    `sqrt.${mode}.f32 #f, #f;`,
    `rcp.${mode}.f32 #f, #f;`,
    `fma.${mode}.f64 #d, #d, #d, #d;`,
    `add.${mode}.f64 #d, #d, #d;`,
    `mul.${mode}.f64 #d, #d, #d;`,
    `div.${mode}.f64 #d, #d, #d;`,
    `sqrt.${mode}.f64 #d, #d;`,
    `cvt.${mode}i.s32.f32 #r, #f;`,
    `cvt.${mode}i.u64.f64 #x, #d;`,
    `cvt.${mode}.f32.u64 #f, #x;`,
    `cvt.${mode}.f64.s64 #d, #x;`,
    `cvt.${mode}.f32.s32 #f, #r;`,
  ]),
  ...["fma.rn.ftz.f32 #f, #f, #f, #f;", "fma.rn.sat.f32 #f, #f, #f, #f;", "sub.f64 #d, #d, #d;"],
  ...["min.f64 #d, #d, #d;", "max.f64 #d, #d, #d;", "cvt.f64.f32 #d, #f;", "cvt.u32.u16 #r, #h;"],
  ...["cvt.s32.s16 #r, #h;", "cvt.u16.u32 #h, #r;", "cvt.sat.s16.s32 #h, #r;"],
  ...["cvt.s64.s32 #x, #r;", "cvt.u32.u64 #r, #x;", "cvt.sat.u32.s64 #r, #x;"],
  ...["cvt.s32.s8 #r, #r;", "cvt.rni.f32.f32 #f, #f;", "cvt.rmi.f64.f64 #d, #d;"],
  ...["mov.b32 #f, #r;", "mov.b32 #r, #f;", "mov.b64 #x, {#r, #r};", "mov.b64 {#r, #r}, #x;"],
  ...["mov.b32 #r, {#h, #h};", "mov.b32 {#h, #h}, #r;", "mov.u32 #r, %laneid;"],
  ...["mov.u32 #r, %tid.x;", "mov.u32 #r, %lanemask_lt;", "mov.u32 #r, %ctaid.x;"],
  ...["neg.f32 #f, #f;", "abs.f32 #f, #f;", "neg.ftz.f32 #f, #f;", "neg.f64 #d, #d;"],
  ...["add.f32 #b, #b, #f;", "fma.rn.f32 #b, #f, #f, #b;", "mov.b32 #b, #r;", "mov.b32 #r, #b;"],
  ...["add.u32 #b, #b, #r;", "mov.b32 #b, #b;", "mov.b32 #f, #b;", "selp.b32 #b, #b, #f, #p;"],
  ...["lt.s32", "ge.u32", "eq.u32", "hi.u32"].map((name) => `setp.${name} #p, #r, #r;`),
  ...["lt.f32", "neu.f32", "geu.f32", "num.f32", "ne.f32", "equ.f32"].map(
    (name) => `setp.${name} #p, #f, #f;`,
  ),
  ...["setp.le.f64 #p, #d, #d;", "setp.nan.f64 #p, #d, #d;", "setp.gt.s64 #p, #x, #x;"],
  ...["setp.lt.and.u32 #p, #r, #r, #p;", "setp.ne.xor.s32 #p|#p, #r, #r, !#p;"],
  ...["and.pred #p, #p, #p;", "not.pred #p, #p;", "selp.u32 #r, #r, #r, #p;"],
  ...["selp.f32 #f, #f, #f, #p;", "selp.b64 #x, #x, #x, #p;", "selp.f64 #d, #d, #d, #p;"],
];

/**
 * Memory instructions; `%s` is an address in shared memory, `%l` in local, `%g` in the input,
 * `%gs` the generic form of `%s`.
 */
const MEMORY_TEMPLATES: readonly string[] = [
  ...["st.shared.u32 [%s], #r;", "ld.shared.u32 #r, [%s];", "ld.shared.f32 #f, [%s];"],
  ...["st.shared.f32 [%s], #f;", "ld.shared.s8 #r, [%s+1];", "st.shared.u16 [%s+2], #h;"],
  ...["ld.shared.b32 #b, [%s];", "st.shared.b32 [%s], #b;"],
  ...["st.local.u64 [%l], #x;", "ld.local.u64 #x, [%l];", "ld.local.v2.u32 {#r, #r}, [%l];"],
  ...["ld.global.f32 #f, [%g];", "ld.global.s16 #r, [%g+2];", "ld.global.v2.f32 {#f, #f}, [%g];"],
  ...["ld.global.u64 #x, [%g];", "ld.global.f64 #d, [%g];", "ld.u32 #r, [%g+4];"],
  ...["add.u32", "min.s32", "max.u32", "xor.b32", "inc.u32", "dec.u32", "exch.b32"].map(
    (name) => `atom.shared.${name} #r, [%s], #r;`,
  ),
  ...["atom.shared.cas.b32 #r, [%s], #r, #r;", "atom.shared.add.f32 #f, [%s], #f;"],
  ...["atom.add.f32 #f, [%gs], #f;", "ld.f32 #f, [%gs];", "st.u32 [%gs], #r;"],
  ...["atom.global.add.u32 #r, [%out+0], #r;", "red.global.max.s32 [%out+4], #r;"],
  ...["atom.global.cas.b64 #x, [%out+8], #x, #x;", "red.global.inc.u32 [%out+4], #r;"],
];

class ProgramWriter {
  readonly #random: Random;
  readonly #lines: string[] = [];
  #labels = 0;
  #counters = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  #line(text: string): void {
    this.#lines.push(`  ${text}`);
  }

  #register(kind: Kind): string {
    return `%${kind}${this.#random(COUNTS[kind])}`;
  }

  #pick<T>(items: readonly T[]): T {
    const item = items[this.#random(items.length)];
    if (item === undefined) throw new RangeError("nothing to pick from");
    return item;
  }

  /** Fills a template; the two results of an instruction are different registers. */
  #fill(template: string): string {
    const used = new Set<string>();
    const isPair = /\{|\|/.test(template);
    return template.replaceAll(/#(\w)|\$i/g, (_, kind: Kind | undefined) => {
      if (kind === undefined) return String(this.#random(70));
      let register = this.#register(kind);
      while (isPair && used.has(register)) register = this.#register(kind);
      used.add(register);
      return register;
    });
  }

  #instruction(): void {
    const guard = this.#random(8) === 0 ? `@${this.#guard()} ` : "";
    if (this.#random(4) > 0) {
      this.#line(guard + this.#fill(this.#pick(TEMPLATES)));
      return;
    }
    this.#line(`and.b32 %a0, ${this.#register("r")}, ${SHARED_WORDS - 1};`);
    this.#line("shl.b32 %a0, %a0, 2;");
    this.#line("mov.u32 %s, shared_words;");
    this.#line("add.u32 %s, %s, %a0;");
    this.#line("cvt.u64.u32 %gs, %s;");
    this.#line("cvta.shared.u64 %gs, %gs;");
    this.#line(`and.b32 %a0, %a0, ${LOCAL_BYTES - 8};`);
    this.#line("cvt.u64.u32 %a1, %a0;");
    this.#line("mov.u64 %l, local_bytes;");
    this.#line("add.u64 %l, %l, %a1;");
    this.#line(`and.b64 %a1, ${this.#register("x")}, ${INPUT_BYTES - 8};`);
    this.#line("add.u64 %g, %in, %a1;");
    this.#line(guard + this.#fill(this.#pick(MEMORY_TEMPLATES)));
  }

  #guard(): string {
    return (this.#random(2) === 0 ? "!" : "") + this.#register("p");
  }

  #label(): string {
    this.#labels += 1;
    return `L${this.#labels}`;
  }

  #statements(depth: number): void {
    for (let count = 1 + this.#random(5); count > 0; count -= 1) this.#statement(depth);
  }

  #statement(depth: number): void {
    const choice = this.#random(depth < DEPTH_MAX ? 16 : 10);
    if (choice === 0) this.#line("bar.sync 0;");
    else if (choice === 1 && this.#random(4) === 0) this.#line(`@${this.#guard()} ret;`);
    else if (choice < 11) this.#instruction();
    else if (choice < 14) this.#branch(depth);
    else this.#loop(depth);
  }

  #branch(depth: number): void {
    const [otherwise, end] = [this.#label(), this.#label()];
    this.#line(`@${this.#guard()} bra ${otherwise};`);
    this.#statements(depth + 1);
    if (this.#random(2) === 0) {
      this.#line(`bra ${end};`);
      this.#line(`${otherwise}:`);
      this.#statements(depth + 1);
    } else this.#line(`${otherwise}:`);
    this.#line(`${end}:`);
  }

  /** Counts down from a number that may differ between threads; may be entered in its middle. */
  #loop(depth: number): void {
    const counter = `%n${this.#counters}`;
    this.#counters += 1;
    const [head, middle, end] = [this.#label(), this.#label(), this.#label()];
    if (this.#random(2) === 0) this.#line(`mov.u32 ${counter}, ${1 + this.#random(4)};`);
    else {
      this.#line(`and.b32 ${counter}, ${this.#register("r")}, 3;`);
      this.#line(`add.u32 ${counter}, ${counter}, 1;`);
    }
    if (this.#random(3) === 0) this.#line(`@${this.#guard()} bra ${middle};`);
    this.#line(`${head}:`);
    this.#statements(depth + 1);
    if (this.#random(3) === 0) this.#line(`@${this.#guard()} bra ${end};`);
    this.#line(`${middle}:`);
    this.#statements(depth + 1);
    this.#line(`sub.u32 ${counter}, ${counter}, 1;`);
    this.#line(`setp.ne.u32 %q, ${counter}, 0;`);
    this.#line(`@%q bra ${head};`);
    this.#line(`${end}:`);
  }

  /** Gives most registers a first value; the rest read as zero. */
  #prologue(): void {
    this.#line("ld.param.u64 %in, [in];");
    this.#line("ld.param.u64 %out, [out];");
    for (const [kind, count] of Object.entries(COUNTS) as [Kind, number][]) {
      for (let index = 0; index < count - 1; index += 1) {
        const offset = 8 * this.#random(INPUT_BYTES / 8);
        if (kind === "p") this.#line(`setp.lt.u32 %p${index}, %tid.x, ${this.#random(40)};`);
        else this.#line(`ld.global.${REGISTER_TYPE[kind]} %${kind}${index}, [%in+${offset}];`);
      }
    }
    this.#line("mov.u32 %r1, %tid.x;");
  }

  #epilogue(): void {
    this.#line("mov.u32 %a0, %tid.x;");
    this.#line(`mad.lo.u32 %a0, %ctaid.x, ${PROGRAM_THREADS}, %a0;`);
    this.#line(`mul.wide.u32 %a1, %a0, ${RESULT_BYTES};`);
    this.#line("add.u64 %a1, %out, %a1;");
    let offset = 16;
    for (const kind of ["x", "d", "r", "f", "b", "h"] as const) {
      for (let index = 0; index < COUNTS[kind]; index += 1) {
        const type = REGISTER_TYPE[kind];
        this.#line(`st.global.${type} [%a1+${offset}], %${kind}${index};`);
        offset += Number(type.slice(1)) / 8;
      }
    }
    this.#line("ret;");
  }

  write(): string {
    this.#prologue();
    this.#statements(0);
    this.#statements(0);
    this.#epilogue();
    const declarations = (Object.keys(COUNTS) as Kind[]).map(
      (kind) => `  .reg .${REGISTER_TYPE[kind]} %${kind}<${COUNTS[kind]}>;`,
    );
    return [
      ".version 7.0\n.target sm_80\n.address_size 64",
      ".visible .entry k(.param .u64 in, .param .u64 out)\n{",
      ...declarations,
      `  .reg .b32 %a0, %s, %n<${this.#counters + 1}>;`,
      "  .reg .b64 %a1, %l, %g, %gs, %in, %out;\n  .reg .pred %q;",
      `  .shared .align 8 .b8 shared_words[${SHARED_WORDS * 4}];`,
      `  .local .align 8 .b8 local_bytes[${LOCAL_BYTES}];`,
      ...this.#lines,
      "}\n",
    ].join("\n");
  }
}

/** The program of a seed, one kernel `k(in, out)`. */
export const randomProgram = (seed: number): string => new ProgramWriter(seed).write();

/** Where in a thread's results its f64 registers lie: NaNs there are compared as NaNs only. */
export const F64_RESULTS = {
  start: 16 + COUNTS.x * 8,
  end: 16 + (COUNTS.x + COUNTS.d) * 8,
} as const;
