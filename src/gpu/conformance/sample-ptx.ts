/**
 * Small PTX modules, written by hand, for what the shipped kernels do not touch. All are PTX ISA
 * 4.2 for sm_30, so that everything from a GK210 under driver R470 on loads them.
 */
import type { KernelArgument } from "../parameters.ts";

const HEADER = ".version 4.2\n.target sm_30\n.address_size 64\n";

/** `reverse_block(out, in)`, 64 threads: out[t] = in[63 - t], through shared memory. */
const REVERSE_BLOCK = `
.visible .entry reverse_block(.param .u64 out, .param .u64 in)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  .shared .align 4 .b8 reversed_words[256];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  mov.u64 %rd5, reversed_words;
  add.s64 %rd6, %rd5, %rd3;
  st.shared.u32 [%rd6], %r2;
  bar.sync 0;
  mov.u32 %r3, 63;
  sub.u32 %r3, %r3, %r1;
  mul.wide.u32 %rd6, %r3, 4;
  add.s64 %rd6, %rd5, %rd6;
  ld.shared.u32 %r2, [%rd6];
  add.s64 %rd7, %rd1, %rd3;
  st.global.u32 [%rd7], %r2;
  ret;
}
`;

/** `rotate_block(out, in)`: out[t] = in[(t + 1) mod threads], through dynamic shared memory. */
const ROTATE_BLOCK = `
.extern .shared .align 4 .b8 rotated_words[];
.visible .entry rotate_block(.param .u64 out, .param .u64 in)
{
  .reg .b32 %r<5>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [in];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ntid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r3, [%rd4];
  mov.u64 %rd5, rotated_words;
  add.s64 %rd6, %rd5, %rd3;
  st.shared.u32 [%rd6], %r3;
  bar.sync 0;
  add.u32 %r4, %r1, 1;
  rem.u32 %r4, %r4, %r2;
  mul.wide.u32 %rd6, %r4, 4;
  add.s64 %rd6, %rd5, %rd6;
  ld.shared.u32 %r3, [%rd6];
  add.s64 %rd7, %rd1, %rd3;
  st.global.u32 [%rd7], %r3;
  ret;
}
`;

/** `take_tickets(counter, taken)`: every thread draws a ticket and marks it: taken[ticket] += 1. */
const TAKE_TICKETS = `
.visible .entry take_tickets(.param .u64 counter, .param .u64 taken)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [counter];
  ld.param.u64 %rd2, [taken];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  atom.global.add.u32 %r1, [%rd1], 1;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  atom.global.add.u32 %r2, [%rd4], 1;
  ret;
}
`;

/**
 * `coordinates(out)`: each thread writes its own coordinates, four bits each, tid.x lowest and
 * ctaid.z highest, at its linear index.
 */
const COORDINATES = `
.visible .entry coordinates(.param .u64 out)
{
  .reg .b32 %r<20>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.y;
  mov.u32 %r3, %tid.z;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %ctaid.y;
  mov.u32 %r6, %ctaid.z;
  mov.u32 %r7, %ntid.x;
  mov.u32 %r8, %ntid.y;
  mov.u32 %r9, %ntid.z;
  mov.u32 %r10, %nctaid.x;
  mov.u32 %r11, %nctaid.y;
  mad.lo.u32 %r12, %r6, %r11, %r5;
  mad.lo.u32 %r12, %r12, %r10, %r4;
  mad.lo.u32 %r12, %r12, %r9, %r3;
  mad.lo.u32 %r12, %r12, %r8, %r2;
  mad.lo.u32 %r12, %r12, %r7, %r1;
  mov.u32 %r13, %r6;
  mad.lo.u32 %r13, %r13, 16, %r5;
  mad.lo.u32 %r13, %r13, 16, %r4;
  mad.lo.u32 %r13, %r13, 16, %r3;
  mad.lo.u32 %r13, %r13, 16, %r2;
  mad.lo.u32 %r13, %r13, 16, %r1;
  mul.wide.u32 %rd2, %r12, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r13;
  ret;
}
`;

/** `gather(out, ...)`: one thread copies its ten other parameters to `out`, 8-byte aligned. */
const GATHER = `
.visible .entry gather(
  .param .u64 out,
  .param .u8 a,
  .param .u16 b,
  .param .u32 c,
  .param .u64 d,
  .param .f32 e,
  .param .f64 f,
  .param .align 8 .b8 g[24],
  .param .u16 h,
  .param .u32 i,
  .param .u64 j
)
{
  .reg .b16 %rs<3>;
  .reg .b32 %r<3>;
  .reg .f32 %f<2>;
  .reg .f64 %fd<2>;
  .reg .b64 %rd<7>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.u8 %rs1, [a];
  st.global.u8 [%rd1], %rs1;
  ld.param.u16 %rs1, [b];
  st.global.u16 [%rd1+8], %rs1;
  ld.param.u32 %r1, [c];
  st.global.u32 [%rd1+16], %r1;
  ld.param.u64 %rd2, [d];
  st.global.u64 [%rd1+24], %rd2;
  ld.param.f32 %f1, [e];
  st.global.f32 [%rd1+32], %f1;
  ld.param.f64 %fd1, [f];
  st.global.f64 [%rd1+40], %fd1;
  ld.param.u64 %rd3, [g];
  st.global.u64 [%rd1+48], %rd3;
  ld.param.u64 %rd4, [g+8];
  st.global.u64 [%rd1+56], %rd4;
  ld.param.u64 %rd5, [g+16];
  st.global.u64 [%rd1+64], %rd5;
  ld.param.u16 %rs2, [h];
  st.global.u16 [%rd1+72], %rs2;
  ld.param.u32 %r2, [i];
  st.global.u32 [%rd1+80], %r2;
  ld.param.u64 %rd6, [j];
  st.global.u64 [%rd1+88], %rd6;
  ret;
}
`;

/** A module of all the sound sample kernels. */
export const SAMPLE_PTX = [
  HEADER,
  ROTATE_BLOCK,
  REVERSE_BLOCK,
  TAKE_TICKETS,
  COORDINATES,
  GATHER,
].join("");

/** Its entries, in the order of the text. */
export const SAMPLE_NAMES = [
  "rotate_block",
  "reverse_block",
  "take_tickets",
  "coordinates",
  "gather",
] as const;

/** Bytes that `gather` writes. */
export const GATHER_BYTES = 96;

/** Arguments for `gather` after `out`, each unlike its neighbours in every byte. */
export const GATHER_ARGUMENTS: readonly KernelArgument[] = [
  { type: "u8", value: 0x81 },
  { type: "u16", value: 0x9293 },
  { type: "u32", value: 0xa4a5a6a7 },
  { type: "u64", value: 0xb1b2b3b4b5b6b7b8n },
  { type: "f32", value: -1.1 },
  { type: "f64", value: 2.2e-300 },
  { bytes: Uint8Array.from({ length: 24 }, (_, index) => index + 1) },
  { type: "s16", value: -12345 },
  { type: "s32", value: -123456789 },
  { type: "s64", value: -(2n ** 61n) - 7n },
];

/** Kernels that must fail: `oob` and `misaligned` store a word at `address`; `trap` ignores it. */
export const FAULT_PTX = `${HEADER}
.visible .entry oob(.param .u64 address)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [address];
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry misaligned(.param .u64 address)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [address];
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry trap(.param .u64 address)
{
  trap;
  ret;
}
`;

/** PTX that nothing loads. */
export const BROKEN_PTX = {
  empty: "",
  prose: "this is no PTX at all\n",
  truncated: SAMPLE_PTX.slice(0, SAMPLE_PTX.indexOf("bar.sync") + 4),
  unknownInstruction: `${HEADER}
.visible .entry broken(.param .u64 out)
{
  .reg .b32 %r<2>;
  frobnicate.u32 %r1, 1;
  ret;
}
`,
  withNul: SAMPLE_PTX.replace("ret;", "ret;\0"),
  tooNew: SAMPLE_PTX.replace(".version 4.2", ".version 99.9"),
} as const;
