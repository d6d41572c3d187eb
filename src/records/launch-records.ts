/** The two records of which a launch descriptor (op 256) is made; see launch-descriptor.ts. */
import { bytes, fixedU16, magic, reserved, u32, u64 } from "./field.ts";
import { declareRecord, type ValueOf } from "./record.ts";

/** Which kernel, and how many arguments follow. 64 bytes. */
export const LAUNCH_DESCRIPTOR = declareRecord({
  title: "launch descriptor",
  cName: "hf_launch_descriptor",
  purpose: "Head of the launch descriptor of op 256; its arguments follow at once.",
  bytes: 64,
  fields: {
    magic: magic("HFLD", 8),
    version: fixedU16("version", 1, "1"),
    headerBytes: fixedU16("record_bytes", 64, "64"),
    argumentCount: u32("arguments that follow, 0 to 256"),
    moduleSha256: bytes(32, "SHA-256 of the module's PTX text, the file's bytes as they are"),
    entryOffset: u32("where the entry's name begins, from the start of the descriptor"),
    entryBytes: u32("bytes of that name, 1 to 1024, no NUL"),
    reserved: reserved(8),
  },
});

export type LaunchHeader = ValueOf<typeof LAUNCH_DESCRIPTOR>;

/** One argument of the kernel. 32 bytes. */
export const LAUNCH_ARGUMENT = declareRecord({
  title: "launch argument",
  cName: "hf_launch_argument",
  purpose: "One argument of the kernel that op 256 launches.",
  bytes: 32,
  fields: {
    kind: u32("what it is; says what the other fields mean"),
    type: u32("type of the scalar or of the slice's elements; alias and bytes: 0"),
    offset: u64("in, inout, bytes: offset in `in`; alias: index of the argument; else 0"),
    bytes: u64("in, out, inout, bytes: size; else 0"),
    value: u64("scalar: its bits; out, inout: offset in `out`; alias: offset into it; else 0"),
  },
});

export type LaunchArgumentRecord = ValueOf<typeof LAUNCH_ARGUMENT>;
