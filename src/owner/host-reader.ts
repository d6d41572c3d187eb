/**
 * Bytes of arguments, read again for a check: in place where they lie in this process's memory,
 * otherwise made, or brought back from the device, anew.
 */
import { waitUntilIdle, type DeviceBuffer } from "../gpu/mod.ts";
import type { BoundBuffer, BoundSource } from "./host-argument.ts";
import type { Carrier } from "./host-bytes.ts";
import type { HostPiece } from "./host-memory.ts";

/**
 * Gives `bytes` bytes from `offset` on, aligned for any element. They stay as they are until the
 * same reader is asked again, and for the readers of outputs, until any is.
 */
export type ByteReader = (offset: number, bytes: number) => Uint8Array | Promise<Uint8Array>;

/** Widest element: what begins at a multiple of this is aligned for all. */
const ALIGNMENT_BYTES = 8;

/** Memory that grows to what was asked for last. */
function createScratch(): (bytes: number) => Uint8Array {
  let held = new Uint8Array(0);
  return (bytes) => {
    if (held.length < bytes) held = new Uint8Array(bytes);
    return held.subarray(0, bytes);
  };
}

/** Reads what an argument held before the launch. */
export function sourceReader(source: BoundSource, elementBytes: number): ByteReader {
  if (source.kind === "pieces") return pieceReader(source.pieces, elementBytes);
  const scratch = createScratch();
  // Nobody writes to what a reader gave, so zeros stay zeros.
  if (source.kind === "zero") return (_, bytes) => scratch(bytes);
  return (offset, bytes) => {
    const view = scratch(bytes);
    source.fill(view, offset);
    return view;
  };
}

/** Reads what an argument holds after the launch. */
export function outputReader(
  { buffer, target }: BoundBuffer,
  carrier: Carrier,
  elementBytes: number,
): ByteReader {
  if (target?.kind === "pieces") return pieceReader(target.pieces, elementBytes);
  return deviceReader(buffer, carrier);
}

function deviceReader(buffer: DeviceBuffer, { stream, staging, clock }: Carrier): ByteReader {
  return async (offset, bytes) => {
    stream.copyOut(staging, 0, { buffer, offset, bytes });
    await waitUntilIdle(stream, { clock });
    return staging.bytes.subarray(0, bytes);
  };
}

/** Reads pieces in place; what lies across two of them, or is not aligned, is copied together. */
function pieceReader(pieces: readonly HostPiece[], elementBytes: number): ByteReader {
  const alignmentBytes = Math.min(elementBytes, ALIGNMENT_BYTES);
  const scratch = createScratch();
  return (offset, bytes) => {
    let start = 0;
    for (const piece of pieces) {
      const at = offset - start;
      if (at >= 0 && at + bytes <= piece.bytes.length) {
        const view = piece.bytes.subarray(at, at + bytes);
        if (view.byteOffset % alignmentBytes === 0) return view;
      }
      start += piece.bytes.length;
    }
    const view = scratch(bytes);
    copyTogether(pieces, offset, view);
    return view;
  };
}

function copyTogether(pieces: readonly HostPiece[], offset: number, view: Uint8Array): void {
  let start = 0;
  for (const { bytes } of pieces) {
    const from = Math.max(0, offset - start);
    const until = Math.min(bytes.length, offset + view.length - start);
    if (from < until) view.set(bytes.subarray(from, until), start + from - offset);
    start += bytes.length;
  }
}
