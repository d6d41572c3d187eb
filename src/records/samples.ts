/** One value of each record, all its fields different, and its bytes, worked out elsewhere. */
import type { Cbd2Done, CubdDone } from "./done-records.ts";
import type { Cubb2Job, CubbJob } from "./job-records.ts";
import type { LaunchArgumentRecord, LaunchHeader } from "./launch-records.ts";

// The bytes were made with Python's struct.pack and a bitwise CRC, not with this code.

type Sample<Value> = { readonly value: Value; readonly hex: string };

export const SAMPLE_CUBB2: Sample<Cubb2Job> = {
  value: {
    flags: 5,
    seq: 0x1122_3344_5566_7788n,
    op: 4,
    timeoutMs: 30_000,
    n: 1_048_576n,
    inBytes: 4_194_304n,
    outBytes: 4_194_305n,
    grid: [4096, 2, 3],
    block: [256, 5, 6],
    sharedBytes: 1024,
    descBytes: 80,
    guestId: 0xfedc_ba98_7654_3210n,
    iters: 0xff_ffff,
  },
  hex:
    "4355424232000000020080000500000088776655443322110400000030750000" +
    "0000100000000000000040000000000001004000000000000010000002000000" +
    "0300000000010000050000000600000000040000500000001032547698badcfe" +
    "ffffff00000000000000000000000000000000000000000000000000b1dafb53",
};

export const SAMPLE_CBD2: Sample<Cbd2Done> = {
  value: {
    status: 11,
    seq: 42n,
    op: 2,
    cudaError: 700,
    n: 1_048_576n,
    outBytes: 4_194_304n,
    kernelNs: 41_919n,
    wallNs: 1_234_567_890_123n,
    checksum: 392_344_090.5,
    bad: 3n,
    checked: 1_048_575n,
    device: "Quadro Ω",
    flags: 2,
  },
  hex:
    "4342443200000000020080000b0000002a0000000000000002000000bc020000" +
    "00001000000000000000400000000000bfa3000000000000cb04fb711f010000" +
    "0000801ab262b7410300000000000000ffff0f000000000051756164726f20ce" +
    "a900000000000000000000000000000000000000000000000200000099e9e1bd",
};

export const SAMPLE_CUBB: Sample<CubbJob> = {
  value: {
    seq: 1000n,
    op: 2,
    n: 257,
    gpaA: 0x1000n,
    gpaB: 0x1_0000_0000n,
    gpaC: 0x1234_5678_9abcn,
  },
  hex:
    "4355424201000000e80300000000000002000000010100000010000000000000" +
    "0000000001000000bc9a785634120000",
};

export const SAMPLE_CUBD: Sample<CubdDone> = {
  value: {
    seq: 1000n,
    status: 10,
    bad: 0xffff_ffff,
    kernelNs: 41_567n,
    checksum: -0.5,
  },
  hex: "4355424401000000e8030000000000000a000000ffffffff5fa2000000000000" + "000000000000e0bf",
};

export const SAMPLE_HEADER: Sample<LaunchHeader> = {
  value: {
    argumentCount: 3,
    moduleSha256: Uint8Array.from({ length: 32 }, (_, index) => index),
    entryOffset: 160,
    entryBytes: 4,
  },
  hex:
    "48464c44000000000100400003000000000102030405060708090a0b0c0d0e0f" +
    "101112131415161718191a1b1c1d1e1fa0000000040000000000000000000000",
};

export const SAMPLE_ARGUMENT: Sample<LaunchArgumentRecord> = {
  value: {
    kind: 4,
    type: 9,
    offset: 168n,
    bytes: 4096n,
    value: 8n,
  },
  hex: "0400000009000000a80000000000000000100000000000000800000000000000",
};
