/** Admission of op 256: the descriptor at the start of `in`, and the job that it describes. */
import { err, ok } from "../base/mod.ts";
import type { JobArgument, JobCheck } from "../owner/mod.ts";
import {
  decodeLaunchDescriptor,
  LAUNCH_DESCRIPTOR_BYTES_MAX,
  type Cubb2Job,
  type LaunchArgument,
} from "../records/mod.ts";
import {
  payloadOf,
  refuse,
  timeoutOf,
  type Admission,
  type AdmissionOptionsV2,
} from "./admission.ts";
import type { Refusal } from "./ending.ts";
import { readPrefix } from "./file-prefix.ts";
import { scalarText } from "./scalar-text.ts";

/** An input of two arrays of the largest size, an output of one. */
const LAUNCH_IN_BYTES_MAX = 2 ** 31;
const LAUNCH_OUT_BYTES_MAX = 2 ** 30;

const refused = (status: Refusal["status"], reason: string): Admission =>
  err(refuse(status, reason));

/** Makes the job. Throws FileError where a file cannot be read or looked at. */
export async function admitLaunch(
  record: Cubb2Job,
  { mailbox, modules }: AdmissionOptionsV2,
): Promise<Admission> {
  const wrong = findLaunchFault(record);
  if (wrong !== null) return err(wrong);
  const { descBytes, grid, block, sharedBytes } = record;
  if (descBytes > LAUNCH_DESCRIPTOR_BYTES_MAX) {
    const most = `a descriptor has at most ${LAUNCH_DESCRIPTOR_BYTES_MAX}`;
    return refused("bad_descriptor", `desc_bytes is ${descBytes}: ${most}`);
  }
  // The die host reads the whole of `in`; only this much of it is looked at here.
  const bytes = await readPrefix(mailbox.in, descBytes);
  const extent = { inBytes: Number(record.inBytes), outBytes: Number(record.outBytes) };
  const decoded = decodeLaunchDescriptor(bytes, extent);
  if (!decoded.ok) return refused(decoded.error.code, decoded.error.message);
  const { moduleSha256, entry } = decoded.value;
  if (modules === null) {
    return refused("unknown_kernel", "this mailbox has no folder of modules: start with --modules");
  }
  const module = await modules.find(moduleSha256);
  if (module === null) {
    const mend = `no file in ${modules.folder} has that SHA-256: put NAME.ptx there, byte for byte`;
    return refused("unknown_kernel", `module ${moduleSha256}: ${mend}`);
  }
  return ok({
    module,
    entry,
    grid,
    block,
    sharedBytes,
    arguments: decoded.value.arguments.map(jobArgument),
    payload: payloadOf(record, mailbox),
    check: launchCheck(decoded.value.arguments),
    timeoutMs: timeoutOf(record, mailbox),
  });
}

function findLaunchFault({ inBytes, outBytes, descBytes, grid, block }: Cubb2Job): Refusal | null {
  if (inBytes > BigInt(LAUNCH_IN_BYTES_MAX)) {
    const most = `at most ${LAUNCH_IN_BYTES_MAX}`;
    return refuse("too_large", `in_bytes is ${String(inBytes)}; ${most}`);
  }
  if (outBytes > BigInt(LAUNCH_OUT_BYTES_MAX)) {
    const most = `at most ${LAUNCH_OUT_BYTES_MAX}`;
    return refuse("too_large", `out_bytes is ${String(outBytes)}; ${most}`);
  }
  if (BigInt(descBytes) > inBytes) {
    const reason = `desc_bytes is ${descBytes}, and in_bytes, which counts it, ${String(inBytes)}`;
    return refuse("bad_size", reason);
  }
  if ([...grid, ...block].every((size) => size > 0)) return null;
  const given = `grid ${grid.join(",")} block ${block.join(",")}`;
  return refuse(
    "bad_size",
    `${given}: only the producer knows a launch's shape: all are 1 or more`,
  );
}

function jobArgument(argument: LaunchArgument): JobArgument {
  switch (argument.kind) {
    case "scalar": {
      const { type, value } = argument;
      return { kind: "scalar", type, value: scalarText(type, value) };
    }
    case "in": {
      const { bytes, offset } = argument;
      return { kind: "buffer", bytes, source: { kind: "payload", offset }, target: null };
    }
    case "out": {
      const target = { kind: "payload", offset: argument.outOffset } as const;
      return { kind: "buffer", bytes: argument.bytes, source: { kind: "zero" }, target };
    }
    case "inout": {
      const source = { kind: "payload", offset: argument.offset } as const;
      const target = { kind: "payload", offset: argument.outOffset } as const;
      return { kind: "buffer", bytes: argument.bytes, source, target };
    }
    case "alias":
    case "bytes":
      return argument;
  }
}

/** Nobody knows what such a kernel should give, so that only the checksum is worked out. */
function launchCheck(given: readonly LaunchArgument[]): JobCheck {
  const sums = [...given.entries()].flatMap(([argument, { kind, ...rest }]) =>
    (kind === "out" || kind === "inout") && "type" in rest ? [{ argument, type: rest.type }] : [],
  );
  return {
    reference: null,
    extent: "none",
    elements: 0,
    iterations: 0,
    sampleSeed: "0",
    sums,
  };
}
