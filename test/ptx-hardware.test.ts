// Compiled code against what an H200 gave for the same instructions and operands, bit for bit.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { compileKernel } from "../src/ptx/codegen/compile.ts";
import { TestDevice } from "../src/ptx/codegen/testing.ts";
import { compileFront, formatDiagnostic, type Kernel } from "../src/ptx/mod.ts";
import { CASES_FOLDER } from "./ptx-cases.ts";

const FILE = join(CASES_FOLDER, "h200-corner-cases.txt");

/** Operands and result take 8 bytes each in memory, whatever their width. */
const SLOT_BYTES = 8;

type Row = { readonly operands: readonly bigint[]; readonly result: bigint };

function readRows(): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const line of readFileSync(FILE, "utf8").split("\n")) {
    if (line === "" || line.startsWith("#")) continue;
    const [left = "", result = ""] = line.split(" = ");
    const [instruction = "", ...operands] = left.split(" ");
    const rows = groups.get(instruction) ?? [];
    groups.set(instruction, rows);
    rows.push({ operands: operands.map(BigInt), result: BigInt(result) });
  }
  return groups;
}

const widthOf = (type: string): number => Number(type.slice(1));

/** Registers are of bit types, as wide as the type but at least 16 bits. */
const registerType = (type: string): string => `b${Math.max(16, widthOf(type))}`;

/** A kernel that does one instruction on the operands of row %tid.x. */
function kernelText(instruction: string, operandCount: number): string {
  const parts = instruction.split(".");
  const source = parts.at(-1) ?? "";
  const isConversion = parts[0] === "cvt";
  const isShift = parts[0] === "shl" || parts[0] === "shr";
  const result = isConversion ? (parts.at(-2) ?? "") : source;
  const resultRegister = widthOf(result) === 8 ? "b32" : registerType(result);
  const indexes = Array.from({ length: operandCount }, (_, index) => index);
  const typeAt = (index: number): string => (isShift && index === 1 ? "b32" : registerType(source));
  return `
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .b32 %r1;
  .reg .b64 %rd<4>;
  .reg .${resultRegister} %d;
  ${indexes.map((index) => `.reg .${typeAt(index)} %a${index};`).join("\n  ")}
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, ${SLOT_BYTES * operandCount};
  add.s64 %rd1, %rd1, %rd3;
  mul.wide.u32 %rd3, %r1, ${SLOT_BYTES};
  add.s64 %rd2, %rd2, %rd3;
  ${indexes
    .map((index) => `ld.global.${typeAt(index)} %a${index}, [%rd1+${SLOT_BYTES * index}];`)
    .join("\n  ")}
  ${instruction} %d, ${indexes.map((index) => `%a${index}`).join(", ")};
  st.global.${resultRegister} [%rd2], %d;
  ret;
}
`;
}

function lower(text: string): Kernel {
  const module = compileFront(text, "hardware.ptx");
  assert.ok(module.ok, module.ok ? "" : formatDiagnostic(module.error));
  const kernel = module.value.entries[0]?.lower();
  assert.ok(kernel?.ok, kernel?.ok === false ? formatDiagnostic(kernel.error) : "no kernel");
  return kernel.value;
}

suite("compiled code gives what an H200 gave", () => {
  for (const [instruction, rows] of readRows()) {
    test(`${instruction}, ${rows.length} cases`, () => {
      const operandCount = rows[0]?.operands.length ?? 0;
      const device = new TestDevice();
      const given = new BigUint64Array(rows.flatMap(({ operands }) => operands));
      const input = device.allocate(new Uint8Array(given.buffer));
      const output = device.allocate(new Uint8Array(rows.length * SLOT_BYTES));
      const parameters = new Uint8Array(new BigUint64Array([BigInt(input), BigInt(output)]).buffer);
      const kernel = compileKernel(lower(kernelText(instruction, operandCount)));
      assert.equal(device.run(kernel, { block: [rows.length, 1, 1], parameters }), null);
      const found = new BigUint64Array(
        device.bytesAt(output, rows.length * SLOT_BYTES).slice().buffer,
      );
      const hex = (value: bigint | undefined): string => (value ?? 0n).toString(16);
      for (const [index, { operands, result }] of rows.entries()) {
        assert.equal(hex(found[index]), hex(result), `of ${operands.map(hex).join(" ")}`);
      }
    });
  }
});
