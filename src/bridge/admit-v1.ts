/**
 * Admission of v1 records: operands and results lie in the guest's RAM, a file that die hosts map,
 * so that transfers go straight to and from it.
 */
import { statSync } from "node:fs";

import { err, fileCall, FileError, ok, type Result } from "../base/mod.ts";
import {
  catalogueOperation,
  launchShape,
  type CatalogueKernel,
  type JobArgument,
  type ModuleReference,
} from "../owner/mod.ts";
import { OPERATION, type CubbJob } from "../records/mod.ts";
import {
  ELEMENT_BYTES,
  extentFor,
  findCountFault,
  outputType,
  refuse,
  type Admission,
} from "./admission.ts";
import type { Refusal } from "./ending.ts";
import { ramOffset } from "./guest-address.ts";
import type { MailboxV1 } from "./mailbox.ts";

export type AdmissionOptionsV1 = {
  readonly mailbox: MailboxV1;
  readonly baseModule: ModuleReference;
};

/** v1 was frozen with these three. */
const OPERATIONS: ReadonlySet<number> = new Set([
  OPERATION.mail,
  OPERATION.vadd,
  OPERATION.vadd_mutated,
]);

export function admitV1(record: CubbJob, { mailbox, baseModule }: AdmissionOptionsV1): Admission {
  const kernel = OPERATIONS.has(record.op) ? catalogueOperation(record.op) : null;
  if (kernel === null) return err(refuse("unknown_op", `op ${record.op} is none of 1 to 3`));
  const wrongCount = findCountFault(BigInt(record.n));
  if (wrongCount !== null) return err(wrongCount);
  const placed = placeArrays(record, kernel, mailbox);
  if (!placed.ok) return placed;
  return ok({
    module: baseModule,
    entry: kernel.entry,
    ...launchShape(kernel, record.n),
    sharedBytes: 0,
    arguments: memoryArguments(kernel, record.n, { path: mailbox.ram, ...placed.value }),
    check: {
      // What is wrong on purpose is compared with what would be right.
      reference: kernel.name === "vadd_mutated" ? "vadd" : kernel.name,
      extent: extentFor(mailbox.verify, record.n),
      elements: record.n,
      iterations: 0,
      sampleSeed: String(record.seq),
      sums: [{ argument: 0, type: outputType(kernel) }],
    },
    timeoutMs: mailbox.timeoutMs,
  });
}

/** Offsets in the RAM file. */
type PlacedArrays = { readonly inputs: readonly number[]; readonly output: number };

/** Finds the arrays in the RAM file, or says why they are not there. */
function placeArrays(
  record: CubbJob,
  kernel: CatalogueKernel,
  mailbox: MailboxV1,
): Result<PlacedArrays, Refusal> {
  const inputs = kernel.parameters.filter(({ kind }) => kind === "input").length;
  const given = [
    ...[["a", record.gpaA] as const, ["b", record.gpaB] as const].slice(0, inputs),
    ["c", record.gpaC] as const,
  ];
  for (const [name, address] of given) {
    if (address % BigInt(ELEMENT_BYTES) === 0n) continue;
    const text = `gpa_${name} 0x${address.toString(16)} is no multiple of ${ELEMENT_BYTES}`;
    return err(refuse("misaligned", text));
  }
  const size = ramBytesOf(mailbox.ram);
  if (!size.ok) return size;
  const layout = { ramBytes: size.value, ramLowBytes: mailbox.ramLowBytes };
  const bytes = record.n * ELEMENT_BYTES;
  const offsets: number[] = [];
  for (const [name, address] of given) {
    const offset = ramOffset(address, bytes, layout);
    if (!offset.ok) return err(refuse("out_of_bounds", `gpa_${name}: ${offset.error}`));
    offsets.push(offset.value);
  }
  const output = offsets.pop() ?? 0;
  if (offsets.every((input) => output + bytes <= input || input + bytes <= output)) {
    return ok({ inputs: offsets, output });
  }
  // A job that a crash cut off is run again, and must then find its operands as they were.
  const text = "the result at gpa_c overlaps an operand: give it memory of its own";
  return err(refuse("out_of_bounds", text));
}

function ramBytesOf(path: string): Result<number, Refusal> {
  try {
    const stats = fileCall("stat", path, () => statSync(path));
    return stats.isFile() ? ok(stats.size) : err(refuse("io_error", `${path} is no plain file`));
  } catch (error) {
    if (error instanceof FileError) return err(refuse("io_error", error.message));
    throw error;
  }
}

function memoryArguments(
  { parameters }: CatalogueKernel,
  n: number,
  { path, inputs, output }: PlacedArrays & { readonly path: string },
): readonly JobArgument[] {
  const bytes = n * ELEMENT_BYTES;
  const unread = [...inputs];
  return parameters.map(({ kind, type }) => {
    switch (kind) {
      case "number":
        return { kind: "scalar", type, value: String(n) };
      case "output": {
        const target = { kind: "memory", path, offset: output } as const;
        return { kind: "buffer", bytes, source: { kind: "zero" }, target };
      }
      case "input": {
        const source = { kind: "memory", path, offset: unread.shift() ?? 0 } as const;
        return { kind: "buffer", bytes, source, target: null };
      }
    }
  });
}
