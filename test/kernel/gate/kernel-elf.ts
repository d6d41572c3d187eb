/**
 * The ELF kernel inside a bzImage. qemu starts it at its PVH entry, which saves the guest from
 * unpacking itself under emulation (3 s for an xz image) and needs no boot loader.
 * Layout: Linux Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header".
 */
import { runTool } from "./tool.ts";

const SETUP_SECTORS_OFFSET = 0x1f1;
const HEADER_MAGIC_OFFSET = 0x202;
const PAYLOAD_OFFSET_OFFSET = 0x248;
const PAYLOAD_BYTES_OFFSET = 0x24c;

/** A header that says 0 setup sectors means 4, for images older than anybody has. */
const SETUP_SECTORS_DEFAULT = 4;
const SECTOR_BYTES = 512;

const UNPACK_TIMEOUT_MS = 30_000;

type Packing = { readonly magic: string; readonly tool: string; readonly args: readonly string[] };

/** By the payload's first bytes, in hex. The image's size follows the packed data as 4 bytes. */
const PACKINGS: readonly Packing[] = [
  { magic: "fd377a585a00", tool: "xz", args: ["-dc", "--single-stream"] },
  { magic: "28b52ffd", tool: "zstd", args: ["-dcq"] },
  { magic: "02214c18", tool: "lz4", args: ["-dc"] },
  { magic: "1f8b", tool: "gzip", args: ["-dcq"] },
];

/** Unpacks the kernel out of a bzImage. */
export function extractElf(image: Buffer): Buffer {
  if (image.toString("latin1", HEADER_MAGIC_OFFSET, HEADER_MAGIC_OFFSET + 4) !== "HdrS") {
    throw new Error("the kernel image is no bzImage: it has no setup header");
  }
  const setupSectors = image[SETUP_SECTORS_OFFSET] || SETUP_SECTORS_DEFAULT;
  const start = (setupSectors + 1) * SECTOR_BYTES + image.readUInt32LE(PAYLOAD_OFFSET_OFFSET);
  const payload = image.subarray(start, start + image.readUInt32LE(PAYLOAD_BYTES_OFFSET));
  const elf = unpackPayload(payload);
  if (elf.toString("latin1", 0, 4) !== "\u007fELF") {
    throw new Error("the kernel's payload is no ELF image");
  }
  return elf;
}

function unpackPayload(payload: Buffer): Buffer {
  const start = payload.toString("hex", 0, 8);
  const packing = PACKINGS.find(({ magic }) => start.startsWith(magic));
  if (packing === undefined) throw new Error(`the kernel is packed in an unknown way: ${start}`);
  const packed = payload.subarray(0, payload.length - 4);
  return runTool(packing.tool, packing.args, { timeoutMs: UNPACK_TIMEOUT_MS, input: packed });
}
