/** What the daemon answers. Frozen: a change is a record with another magic or version. */
import { f64, fixedU16, fixedU32, magic, magicU32, seal, text, u32, u64 } from "./field.ts";
import { declareRecord, type ValueOf } from "./record.ts";

/** How a v2 job ended. 128 bytes. */
export const CBD2_DONE = declareRecord({
  title: "CBD2 done",
  cName: "hf_cbd2_done",
  purpose: "How a job of protocol v2 ended.",
  bytes: 128,
  fields: {
    magic: magic("CBD2", 8),
    version: fixedU16("version", 2, "2"),
    recordBytes: fixedU16("record_bytes", 128, "128"),
    status: u32("how it ended; 0 is ok"),
    seq: u64("that of the job"),
    op: u32("that of the job"),
    cudaError: u32("the driver's own number; 0 where the driver had no part in it"),
    n: u64("that of the job"),
    outBytes: u64("bytes written to `out`"),
    kernelNs: u64("the device's own time of the kernel"),
    wallNs: u64("from the job seen to `out` written"),
    checksum: f64("sum of all outputs, first to last"),
    bad: u64("compared elements that were wrong"),
    checked: u64("elements that were compared"),
    device: text(32, "name of the device, UTF-8, NUL-padded"),
    flags: u32("what was compared: 0 a sample, 2 everything, 4 nothing"),
    crc32c: seal(124),
  },
});

export type Cbd2Done = ValueOf<typeof CBD2_DONE>;

/** How a v1 job ended. 40 bytes. */
export const CUBD_DONE = declareRecord({
  title: "CUBD done",
  cName: "hf_cubd_done",
  purpose: "How a job of protocol v1 ended.",
  bytes: 40,
  fields: {
    magic: magicU32("CUBD"),
    version: fixedU32("version", 1, "1"),
    seq: u64("that of the job"),
    status: u32("how it ended; 0 is ok"),
    bad: u32("compared elements that were wrong; 2^32 - 1 stands for that many or more"),
    kernelNs: u64("the device's own time of the kernel"),
    checksum: f64("sum of all outputs, first to last"),
  },
});

export type CubdDone = ValueOf<typeof CUBD_DONE>;
