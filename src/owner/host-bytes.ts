/**
 * The bytes of a job's arguments, in the die host: from files and patterns to device memory and
 * back, through one staging buffer, chunk by chunk, so that host memory stays bounded whatever a
 * job moves.
 */
import { fstatSync, ftruncateSync, readSync, writeSync } from "node:fs";
import { constants } from "node:fs";

import { fileCall, FileError, invariant, type EventClock } from "../base/mod.ts";
import {
  waitUntilIdle,
  type DeviceBuffer,
  type DeviceRange,
  type HostBuffer,
  type Stream,
} from "../gpu/mod.ts";
import { openHeld } from "./host-file.ts";
import type { HostPiece } from "./host-memory.ts";
import type { FileRegion } from "./job.ts";
import type { Filler } from "./pattern-source.ts";

/** Bytes of the staging buffer: large enough for full speed on the link, small beside any host. */
export const STAGING_BYTES = 16 * 1024 * 1024;

/** What moves bytes to and from a die. */
export type Carrier = {
  readonly stream: Stream;
  readonly staging: HostBuffer;
  readonly clock: EventClock;
};

/** A file that was opened for reading; `close` it whether or not it was read. */
export type OpenRegion = { readonly fill: Filler; readonly close: () => void };

/** Opens a region of a file. Throws FileError where the file is missing or too short. */
export function openRegion(region: FileRegion, bytes: number): OpenRegion {
  const { path } = region;
  invariant(region.bytes === bytes, "a file region is as long as its buffer");
  const { file, close } = openHeld(path, constants.O_RDONLY);
  const heldBytes = fileCall("fstat", path, () => fstatSync(file)).size;
  if (heldBytes < region.offset + bytes) {
    close();
    const detail = `holds ${String(heldBytes)} bytes; ${String(region.offset + bytes)} are needed`;
    throw new FileError({ code: "SHORT", call: "read", path, detail });
  }
  return {
    close,
    fill: (view, offset) => {
      let at = 0;
      while (at < view.length) {
        const position = region.offset + offset + at;
        const read = fileCall("read", path, () =>
          readSync(file, view, at, view.length - at, position),
        );
        if (read === 0) {
          throw new FileError({ code: "SHORT", call: "read", path, detail: "was cut short" });
        }
        at += read;
      }
    },
  };
}

/** A file that will take an argument's bytes. */
export type OpenTarget = {
  readonly write: (view: Uint8Array, offset: number) => void;
  /** Cuts the file to the bytes that it was given. */
  readonly finish: (bytes: number) => void;
  readonly close: () => void;
};

/**
 * Opens `path` for writing before anything runs, so that a job is not computed for nothing. What it
 * held stays until the first write: a job that fails leaves it as it was.
 */
export function openTarget(path: string): OpenTarget {
  const flags = constants.O_WRONLY | constants.O_CREAT;
  const { file, close } = openHeld(path, flags, 0o644);
  return {
    close,
    finish: (bytes) => {
      // A pipe or a device has no length to cut.
      if (fileCall("fstat", path, () => fstatSync(file)).isFile())
        fileCall("ftruncate", path, () => ftruncateSync(file, bytes));
    },
    write: (view, offset) => {
      const isFile = fileCall("fstat", path, () => fstatSync(file)).isFile();
      let at = 0;
      while (at < view.length) {
        at += fileCall("write", path, () =>
          writeSync(file, view, at, view.length - at, isFile ? offset + at : null),
        );
      }
    },
  };
}

/** Brings `bytes` bytes from `fill` into the start of `target`. Throws GpuError and FileError. */
export async function upload(
  carrier: Carrier,
  target: DeviceBuffer,
  bytes: number,
  fill: Filler,
): Promise<void> {
  const { stream, staging, clock } = carrier;
  for (let offset = 0; offset < bytes; offset += staging.bytes.length) {
    const chunkBytes = Math.min(staging.bytes.length, bytes - offset);
    fill(staging.bytes.subarray(0, chunkBytes), offset);
    stream.copyIn({ buffer: target, offset, bytes: chunkBytes }, staging, 0);
    await waitUntilIdle(stream, { clock });
  }
}

/**
 * Queues copies of the pieces, end to end, into the start of `target`. They must stay as they are
 * until the stream has passed them. Where one is not page-locked, it is staged and waited for.
 */
export async function uploadPieces(
  carrier: Carrier,
  target: DeviceBuffer,
  pieces: readonly HostPiece[],
): Promise<void> {
  let offset = 0;
  for (const { bytes, pinned } of pieces) {
    const range = { buffer: target, offset, bytes: bytes.length };
    if (pinned !== null) carrier.stream.copyIn(range, pinned.buffer, pinned.offset);
    else await stagePiece(carrier, range, bytes, "in");
    offset += bytes.length;
  }
}

/** Queues copies of the start of `source` to the pieces that are page-locked. */
export function queueDownload(
  stream: Stream,
  source: DeviceBuffer,
  pieces: readonly HostPiece[],
): void {
  let offset = 0;
  for (const { bytes, pinned } of pieces) {
    const range = { buffer: source, offset, bytes: bytes.length };
    if (pinned !== null) stream.copyOut(pinned.buffer, pinned.offset, range);
    offset += bytes.length;
  }
}

/** Brings the start of `source` to the pieces that are not page-locked. */
export async function downloadUnpinned(
  carrier: Carrier,
  source: DeviceBuffer,
  pieces: readonly HostPiece[],
): Promise<void> {
  let offset = 0;
  for (const { bytes, pinned } of pieces) {
    const range = { buffer: source, offset, bytes: bytes.length };
    if (pinned === null) await stagePiece(carrier, range, bytes, "out");
    offset += bytes.length;
  }
}

/** Moves a piece of ordinary memory through the staging buffer, chunk by chunk. */
async function stagePiece(
  { stream, staging, clock }: Carrier,
  { buffer, offset, bytes }: DeviceRange,
  piece: Uint8Array,
  way: "in" | "out",
): Promise<void> {
  for (let at = 0; at < bytes; at += staging.bytes.length) {
    const chunk = piece.subarray(at, at + staging.bytes.length);
    const range = { buffer, offset: offset + at, bytes: chunk.length };
    // What was staged before, by whomever, is on its way out until the stream is idle.
    await waitUntilIdle(stream, { clock });
    if (way === "in") {
      staging.bytes.set(chunk);
      stream.copyIn(range, staging, 0);
    } else {
      stream.copyOut(staging, 0, range);
      await waitUntilIdle(stream, { clock });
      chunk.set(staging.bytes.subarray(0, chunk.length));
    }
  }
  await waitUntilIdle(stream, { clock });
}

/** Brings the first `bytes` bytes of `source` to `take`, in order. */
export async function download(
  carrier: Carrier,
  source: DeviceBuffer,
  bytes: number,
  take: (view: Uint8Array, offset: number) => void,
): Promise<void> {
  const { stream, staging, clock } = carrier;
  for (let offset = 0; offset < bytes; offset += staging.bytes.length) {
    const chunkBytes = Math.min(staging.bytes.length, bytes - offset);
    stream.copyOut(staging, 0, { buffer: source, offset, bytes: chunkBytes });
    await waitUntilIdle(stream, { clock });
    take(staging.bytes.subarray(0, chunkBytes), offset);
  }
}
