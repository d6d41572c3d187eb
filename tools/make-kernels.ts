// Makes kernels/base.ptx from kernels/base.cu: `node dist/tools/make-kernels.js`. Needs nvcc 13.
//
// nvcc 13 writes PTX for sm_75 and newer only. What it writes for these kernels needs nothing newer
// than PTX ISA 4.2 and sm_30, so its header is set back to those, after a check that every
// instruction is one that they have; an instruction that is not on the list stops the making.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The source and what is made from it. */
export const BASE_SOURCE = join(ROOT, "kernels", "base.cu");
export const BASE_PTX = join(ROOT, "kernels", "base.ptx");

/** The release whose output is committed: another one may order registers differently. */
export const NVCC_RELEASE = "13.0";

/** Opcodes of PTX ISA 4.2 on sm_30 that the base payload may use (PTX ISA, "PTX ISA Notes"). */
const OPCODES = new Set(
  (
    "add and bar bra cvt cvta fma ld mad mov mul or ret selp setp shl shr st sub xor not neg" +
    " min max div rem abs"
  ).split(" "),
);

/** Modifiers that are newer than PTX ISA 4.2 or sm_30, on opcodes that are not. */
const MODIFIERS_TOO_NEW = new Set(["nc", "relaxed", "acquire", "release", "sys", "f16", "bf16"]);

const HEADER = `//
// Made from base.cu by tools/make-kernels.ts; do not edit. PTX ISA 4.2 and sm_30 are on purpose:
// one payload for a GK210 under driver R470 and for all that came since.
//

.version 4.2
.target sm_30
.address_size 64
`;

/** Checks one line of a function's body; throws with the line where it needs something newer. */
function checkInstruction(line: string): void {
  const found = /^\t(?:@!?%p\d+ )?([a-z][\w.]*)/.exec(line);
  if (found === null) return;
  const [opcode = "", ...modifiers] = (found[1] ?? "").split(".");
  if (!OPCODES.has(opcode) || modifiers.some((modifier) => MODIFIERS_TOO_NEW.has(modifier))) {
    throw new Error(
      `base.cu: '${line.trim()}' is not on the list of PTX ISA 4.2 and sm_30 instructions`,
    );
  }
}

/** Sets nvcc's output back to PTX ISA 4.2 and sm_30. Throws where that is not possible. */
export function setBackPtx(nvccOutput: string): string {
  const start = nvccOutput.indexOf(".address_size 64\n");
  if (start < 0) throw new Error("nvcc's output has no .address_size line");
  const body = nvccOutput.slice(start + ".address_size 64\n".length);
  body.split("\n").forEach(checkInstruction);
  return HEADER + body;
}

/** The nvcc release on this machine, e.g. `13.0`, or null where there is none. */
export function nvccRelease(): string | null {
  try {
    const text = execFileSync("nvcc", ["--version"], { encoding: "utf8", stdio: "pipe" });
    return /release (\d+\.\d+)/.exec(text)?.[1] ?? null;
  } catch {
    return null;
  }
}

/** Runs nvcc on base.cu and returns the base payload. */
export function makeBasePtx(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-kernels-"));
  try {
    const output = join(folder, "base.ptx");
    execFileSync("nvcc", ["-ptx", "-arch=sm_75", "-o", output, BASE_SOURCE], { stdio: "inherit" });
    return setBackPtx(readFileSync(output, "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** What is committed. */
export const readBasePtx = (): string => readFileSync(BASE_PTX, "utf8");

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(BASE_PTX, makeBasePtx());
