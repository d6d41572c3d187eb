/**
 * The bytes of a job's arguments, in the die host: from files and patterns to device memory and
 * back, through one staging buffer, chunk by chunk, so that host memory stays bounded whatever a
 * job moves.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { constants } from "node:fs";

import { fileCall, FileError, invariant } from "../base/mod.ts";
import { waitUntilIdle, type DeviceBuffer, type HostBuffer, type Stream } from "../gpu/mod.ts";
import type { ByteSource, FileRegion } from "./job.ts";
import { fillPattern, type Filler } from "./pattern-source.ts";

/** Bytes of the staging buffer: large enough for full speed on the link, small beside any host. */
export const STAGING_BYTES = 16 * 1024 * 1024;

/** What moves bytes to and from a die. */
export type Carrier = { readonly stream: Stream; readonly staging: HostBuffer };

/** A source that was opened; `close` it whether or not it was read. */
export type OpenSource = {
  /** Null: zeros, which the device writes itself. */
  readonly fill: Filler | null;
  readonly close: () => void;
};

const nothing = (): void => undefined;

/** Opens a source of `bytes` bytes. Throws FileError where its file is missing or too short. */
export function openSource(source: ByteSource, bytes: number): OpenSource {
  switch (source.kind) {
    case "zero":
      return { fill: null, close: nothing };
    case "pattern":
      return { fill: fillPattern(source.pattern), close: nothing };
    case "file":
      return openRegion(source.region, bytes);
    case "payload":
    case "memory":
      invariant(false, `a ${source.kind} source is no file of its own`);
  }
}

function openRegion(region: FileRegion, bytes: number): OpenSource {
  const { path } = region;
  invariant(region.bytes === bytes, "a file region is as long as its buffer");
  const file = fileCall("open", path, () => openSync(path, constants.O_RDONLY));
  const close = (): void => closeSync(file);
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
  const file = fileCall("open", path, () => openSync(path, flags, 0o644));
  return {
    close: () => closeSync(file),
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
  const { stream, staging } = carrier;
  for (let offset = 0; offset < bytes; offset += staging.bytes.length) {
    const chunkBytes = Math.min(staging.bytes.length, bytes - offset);
    fill(staging.bytes.subarray(0, chunkBytes), offset);
    stream.copyIn({ buffer: target, offset, bytes: chunkBytes }, staging, 0);
    await waitUntilIdle(stream);
  }
}

/** Brings the first `bytes` bytes of `source` to `take`, in order. */
export async function download(
  carrier: Carrier,
  source: DeviceBuffer,
  bytes: number,
  take: (view: Uint8Array, offset: number) => void,
): Promise<void> {
  const { stream, staging } = carrier;
  for (let offset = 0; offset < bytes; offset += staging.bytes.length) {
    const chunkBytes = Math.min(staging.bytes.length, bytes - offset);
    stream.copyOut(staging, 0, { buffer: source, offset, bytes: chunkBytes });
    await waitUntilIdle(stream);
    take(staging.bytes.subarray(0, chunkBytes), offset);
  }
}
