import { err, ok, type Result } from "../../base/mod.ts";
import type { GpuKernel, KernelParameter } from "../gpu.ts";

const ENTRY = /\.entry\s+([\w$]+)\s*\(([^)]*)\)/g;
const PARAMETER = /^\.param\s+(?:\.align\s+(\d+)\s+)?\.([a-z]\d+)[^[]*?(?:\[(\d+)\])?$/;

/**
 * Reads signatures as plain PTX spells them, for tests that must not depend on the PTX front end:
 * no pointer attributes, no comments inside a parameter list. An entry without parameters has `()`.
 */
export function readSimpleSignatures(
  ptx: string,
  fileName: string,
): Result<readonly GpuKernel[], { readonly message: string }> {
  const kernels: GpuKernel[] = [];
  for (const [, name = "", list = ""] of ptx.matchAll(ENTRY)) {
    const parameters: KernelParameter[] = [];
    let end = 0;
    for (const text of list.split(",").map((part) => part.trim().replaceAll(/\s+/g, " "))) {
      if (text === "") continue;
      const match = PARAMETER.exec(text);
      if (match === null) {
        return err({ message: `${fileName}: ${name} has a parameter it cannot read: ${text}` });
      }
      const [, align, type = "", count] = match;
      const elementBytes = Number(type.slice(1)) / 8;
      const alignment = align === undefined ? elementBytes : Number(align);
      const offset = Math.ceil(end / alignment) * alignment;
      const bytes = elementBytes * Number(count ?? 1);
      parameters.push({ type, offset, bytes });
      end = offset + bytes;
    }
    kernels.push({ name, parameters, parameterBytes: end });
  }
  return ok(kernels);
}
