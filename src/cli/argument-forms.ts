/** Every accepted form; an error shows those of the kind that was meant, and `run --help` all. */
export const ARGUMENT_FORMS = {
  scalar: "TYPE:VALUE, e.g. u32:1Mi s32:-1 u64:0xff f32:1.5 f64:nan",
  in: "in:@FILE or in:TYPE[COUNT]=GENERATOR",
  out: "out:TYPE[COUNT], out:BYTES, either with @FILE",
  inout: "inout:@FILE@FILE2 or inout:TYPE[COUNT]=GENERATOR, which may end with @FILE",
  generator: "ramp ramp:SCALE,MODULUS index random random:SEED work:SEED or a number",
} as const;
