/** Admission of ops 1 to 4: sizes, shape, and the job over the two payload files. */
import { err, ok } from "../base/mod.ts";
import {
  launchShape,
  WORK_ITERS_MAX,
  type CatalogueKernel,
  type CheckExtent,
  type Dim3,
  type JobArgument,
} from "../owner/mod.ts";
import { JOB_FLAG, type Cubb2Job } from "../records/mod.ts";
import {
  ELEMENT_BYTES,
  extentFor,
  findCountFault,
  outputType,
  payloadOf,
  refuse,
  timeoutOf,
  type Admission,
  type AdmissionOptionsV2,
} from "./admission.ts";
import type { Refusal } from "./ending.ts";
import type { VerifyMode } from "./mailbox.ts";

/** What every GPU since 2010 takes in x. */
const BLOCK_THREADS_MAX = 1024;

/** Makes the job. Throws FileError where the output file cannot be looked at. */
export function admitOperation(
  record: Cubb2Job,
  kernel: CatalogueKernel,
  { mailbox, baseModule }: AdmissionOptionsV2,
): Admission {
  const wrong = findSizeFault(record, kernel) ?? findShapeFault(record);
  if (wrong !== null) return err(wrong);
  const n = Number(record.n);
  const isOurs = record.grid[0] === 0;
  const shape = isOurs ? launchShape(kernel, n) : { grid: record.grid, block: record.block };
  const extent = extentOf(record, mailbox.verify, n);
  return ok({
    module: baseModule,
    entry: kernel.entry,
    ...shape,
    sharedBytes: record.sharedBytes,
    arguments: payloadArguments(kernel, n, record.iters),
    payload: payloadOf(record, mailbox),
    check: {
      // What is wrong on purpose is compared with what would be right.
      reference: kernel.name === "vadd_mutated" ? "vadd" : kernel.name,
      extent,
      elements: n,
      iterations: record.iters,
      sampleSeed: String(record.seq),
      sums: [{ argument: 0, type: outputType(kernel) }],
    },
    timeoutMs: timeoutOf(record, mailbox),
  });
}

function findSizeFault(record: Cubb2Job, kernel: CatalogueKernel): Refusal | null {
  const { n, inBytes, outBytes, descBytes, iters } = record;
  const wrongCount = findCountFault(n);
  if (wrongCount !== null) return wrongCount;
  const inputs = kernel.parameters.filter(({ kind }) => kind === "input").length;
  const arrayBytes = n * BigInt(ELEMENT_BYTES);
  const neededBytes = BigInt(inputs) * arrayBytes;
  const elements = `${kernel.name} of ${String(n)} elements`;
  if (inBytes !== neededBytes) {
    const needed = `${elements} needs ${String(neededBytes)}`;
    return refuse("bad_size", `in_bytes is ${String(inBytes)}; ${needed}`);
  }
  if (outBytes !== arrayBytes) {
    const made = `${elements} makes ${String(arrayBytes)}`;
    return refuse("bad_size", `out_bytes is ${String(outBytes)}; ${made}`);
  }
  if (descBytes !== 0) {
    return refuse(
      "bad_size",
      `desc_bytes is ${descBytes}; only op 256 has a descriptor: set it to 0`,
    );
  }
  if (kernel.name !== "slow_add") {
    return iters === 0
      ? null
      : refuse("bad_size", `iters is ${iters}; only op 4 repeats anything: set it to 0`);
  }
  if (iters <= WORK_ITERS_MAX) return null;
  return refuse(
    "too_large",
    `iters is ${iters}; at most ${WORK_ITERS_MAX}, where f32 counts exactly`,
  );
}

const isZero = (dim: Dim3): boolean => dim.every((size) => size === 0);

function findShapeFault({ grid, block, n }: Cubb2Job): Refusal | null {
  if (isZero(grid) && isZero(block)) return null;
  const given = `grid ${grid.join(",")} block ${block.join(",")}`;
  const isFlat = [grid, block].every(([x, y, z]) => x > 0 && y === 1 && z === 1);
  if (!isFlat) {
    const mend = "give x, 1, 1 for both, or all zeros for the daemon to choose";
    return refuse("bad_size", `${given}: ${mend}`);
  }
  if (block[0] > BLOCK_THREADS_MAX) {
    return refuse("bad_size", `${given}: a block has at most ${BLOCK_THREADS_MAX} threads`);
  }
  const threads = BigInt(grid[0]) * BigInt(block[0]);
  if (threads >= n) return null;
  return refuse("bad_size", `${given}: ${String(threads)} threads for ${String(n)} elements`);
}

/** How much is compared: the record's word, else the mailbox's. */
function extentOf({ flags }: Cubb2Job, verify: VerifyMode, elements: number): CheckExtent {
  if ((flags & JOB_FLAG.verify_full) !== 0) return "full";
  if ((flags & JOB_FLAG.verify_none) !== 0) return "none";
  return extentFor(verify, elements);
}

/** The kernel's arguments: inputs one behind the other in the payload, the output alone in its. */
function payloadArguments(
  { parameters }: CatalogueKernel,
  n: number,
  iters: number,
): readonly JobArgument[] {
  const bytes = n * ELEMENT_BYTES;
  let offset = 0;
  return parameters.map(({ kind, name, type }) => {
    switch (kind) {
      case "number":
        return { kind: "scalar", type, value: String(name === "iters" ? iters : n) };
      case "output": {
        const target = { kind: "payload", offset: 0 } as const;
        return { kind: "buffer", bytes, source: { kind: "zero" }, target };
      }
      case "input": {
        const source = { kind: "payload", offset } as const;
        offset += bytes;
        return { kind: "buffer", bytes, source, target: null };
      }
    }
  });
}
