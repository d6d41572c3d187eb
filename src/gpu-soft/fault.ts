/** What a kernel did wrong: the fault record that it left, put into words. */
import type { Dim3, GpuError } from "../gpu/mod.ts";
import { FAULT, FAULT_CODE } from "../ptx/mod.ts";
import { PAGE_BYTES } from "./address-map.ts";
import type { Allocation } from "./device-memory.ts";

/** The reason for which a context is lost; with a call, it makes a GpuError. */
export type Loss = Pick<GpuError, "code" | "errorName"> & { readonly detail: string };

/** A fault record, read from a scratch area. */
export type FaultRecord = {
  readonly code: number;
  readonly line: number;
  readonly column: number;
  readonly address: bigint;
  readonly thread: number;
  readonly block: number;
  readonly bytes: number;
};

/** What was running when it happened. */
export type FaultedLaunch = {
  readonly kernelName: string;
  /** What the module is called in messages. */
  readonly fileName: string;
  readonly grid: Dim3;
  readonly block: Dim3;
};

const ERROR_NAMES: Readonly<Record<number, string>> = {
  [FAULT_CODE.illegalAddress]: "CUDA_ERROR_ILLEGAL_ADDRESS",
  [FAULT_CODE.illegalInstruction]: "CUDA_ERROR_ILLEGAL_INSTRUCTION",
  [FAULT_CODE.misalignedAddress]: "CUDA_ERROR_MISALIGNED_ADDRESS",
};

/** An access that lies further from an allocation's end has nothing to do with it. */
const NEAR_BYTES = 1024 * 1024;

/** CUDA's number for a kernel that ended in a way nobody foresaw. */
const LAUNCH_FAILED = 719;

export function readFault(memory: Uint8Array, scratch: number): FaultRecord {
  const record = new DataView(memory.buffer, memory.byteOffset + scratch);
  return {
    code: record.getUint32(FAULT.code, true),
    line: record.getUint32(FAULT.line, true),
    column: record.getUint32(FAULT.column, true),
    address: record.getBigUint64(FAULT.address, true),
    thread: record.getUint32(FAULT.thread, true),
    block: record.getUint32(FAULT.block, true),
    bytes: record.getUint32(FAULT.bytes, true),
  };
}

/** `nearest` is the live allocation that starts last at or below the fault's address. */
export function faultLoss(
  fault: FaultRecord,
  launch: FaultedLaunch,
  nearest: Allocation | null,
): Loss {
  const place = `${launch.fileName}:${fault.line}:${fault.column}`;
  const thread = coordinates(fault.thread, launch.block);
  const block = coordinates(fault.block, launch.grid);
  const where = `kernel ${launch.kernelName} at ${place}, thread (${thread}) of block (${block})`;
  return {
    code: fault.code,
    errorName: ERROR_NAMES[fault.code] ?? "CUDA_ERROR_UNKNOWN",
    detail: `${where}: ${whatHappened(fault, nearest)}`,
  };
}

/** A kernel that ended without a fault record, or a worker that died: never the program's doing. */
export function failureLoss(text: string, launch: FaultedLaunch | null): Loss {
  const where = launch === null ? "" : `kernel ${launch.kernelName} of ${launch.fileName}: `;
  return {
    code: LAUNCH_FAILED,
    errorName: "CUDA_ERROR_LAUNCH_FAILED",
    detail: `${where}${text}; this is a fault of the software GPU, not of the kernel`,
  };
}

function whatHappened(fault: FaultRecord, nearest: Allocation | null): string {
  if (fault.code === FAULT_CODE.illegalInstruction) return "the kernel executed trap";
  const access = `access to ${fault.bytes} bytes at 0x${fault.address.toString(16)}`;
  if (fault.code === FAULT_CODE.misalignedAddress) {
    return `${access}, which is no multiple of ${fault.bytes}`;
  }
  return `${access}, ${placeOf(Number(fault.address), nearest)}`;
}

function placeOf(address: number, nearest: Allocation | null): string {
  if (address < PAGE_BYTES) return "a null pointer or close to one";
  const past = nearest === null ? Infinity : address - (nearest.address + nearest.bytes);
  if (nearest === null || past > NEAR_BYTES) return "which is in no allocation";
  const start = `0x${nearest.address.toString(16)}`;
  const name = `the allocation of ${nearest.bytes} bytes at ${start}`;
  return past < 0 ? `which runs past the end of ${name}` : `${past} bytes past the end of ${name}`;
}

/** `x, y, z` of a linear index, x fastest. */
function coordinates(index: number, sizes: Dim3): string {
  const [x, y] = sizes;
  return `${index % x}, ${Math.floor(index / x) % y}, ${Math.floor(index / (x * y))}`;
}
