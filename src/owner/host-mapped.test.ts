import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { FileError, NATIVE_VIEW_BYTES_MAX, ok } from "../base/mod.ts";
import type { GpuContext } from "../gpu/mod.ts";
import { MappedFiles } from "./host-mapped.ts";
import type { HostPiece } from "./host-memory.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-ram-"));
test.after(() => rmSync(folder, { recursive: true }));

const GIB = NATIVE_VIEW_BYTES_MAX;

type Adopting = {
  readonly files: MappedFiles;
  /** Lengths of the views that are adopted now. */
  readonly adopted: number[];
  readonly notes: string[];
};

const adopt =
  (adopted: number[]): GpuContext["adoptHost"] =>
  (bytes) => {
    adopted.push(bytes.length);
    return ok({ bytes, free: () => void adopted.splice(adopted.indexOf(bytes.length), 1) });
  };

function createFiles(adoptHost?: GpuContext["adoptHost"]): Adopting {
  const [adopted, notes]: [number[], string[]] = [[], []];
  const note = (line: string): void => void notes.push(line);
  return {
    files: new MappedFiles({ adopt: adoptHost ?? adopt(adopted), note }),
    adopted,
    notes,
  };
}

let made = 0;

/** A sparse file of that size. */
function ram(bytes: number): string {
  made += 1;
  const path = join(folder, `ram-${made}`);
  const file = openSync(path, "w");
  ftruncateSync(file, bytes);
  closeSync(file);
  return path;
}

const lengthsOf = (pieces: readonly HostPiece[]): readonly number[] =>
  pieces.map(({ bytes }) => bytes.length);

const isFileError =
  (code: string, message = /./) =>
  (error: unknown): boolean =>
    error instanceof FileError && error.code === code && message.test(error.message);

test("each view is mapped and locked on first touch, and then kept", () => {
  const { files, adopted } = createFiles();
  const path = ram(2 * GIB + 4096);
  files.pieces(path, 0, 16);
  files.pieces(path, 1000, 16);
  assert.deepEqual(adopted, [GIB]);
  const across = files.pieces(path, 2 * GIB - 8, 24);
  assert.deepEqual(lengthsOf(across), [8, 16]);
  assert.deepEqual(adopted, [GIB, GIB, 4096]);
  assert.deepEqual(
    across.map(({ pinned }) => pinned?.offset),
    [GIB - 8, 0],
  );
});

test("pieces are the file's own bytes, wherever they lie", () => {
  const { files } = createFiles();
  const path = ram(GIB + 4096);
  const file = openSync(path, "r+");
  writeSync(file, "abcdefgh", GIB - 4);
  closeSync(file);
  const pieces = files.pieces(path, GIB - 4, 8);
  assert.equal(Buffer.concat(pieces.map(({ bytes }) => bytes)).toString(), "abcdefgh");
  for (const { bytes } of pieces) bytes.fill(0x78, 1, 3);
  const read = createFiles().files.pieces(path, GIB - 4, 8);
  assert.equal(Buffer.concat(read.map(({ bytes }) => bytes)).toString(), "axxdexxh");
});

test("a range that is not in the file is an error, and so is what is no file", () => {
  const { files, adopted } = createFiles();
  const path = ram(4096);
  assert.deepEqual(lengthsOf(files.pieces(path, 4000, 96)), [96]);
  for (const [offset, bytes] of [
    [4000, 97],
    [2 ** 40, 1],
    [-4, 4],
  ] as const) {
    assert.throws(
      () => files.pieces(path, offset, bytes),
      isFileError("SHORT", /holds 4096 bytes/),
    );
  }
  execFileSync("mkfifo", [join(folder, "fifo")]);
  assert.throws(() => files.pieces(join(folder, "none"), 0, 1), isFileError("ENOENT"));
  assert.throws(() => files.pieces(folder, 0, 1), isFileError("EISDIR"));
  assert.throws(
    () => files.pieces(join(folder, "fifo"), 0, 1),
    isFileError("ENODEV", /no regular/),
  );
  assert.deepEqual(adopted, [4096]);
});

const changes: readonly (readonly [name: string, change: (path: string) => void, code: string])[] =
  [
    ["the control: nothing", () => undefined, "ok"],
    ["cut short", (path) => truncateSync(path, 4096), "SHORT"],
    ["grown", (path) => truncateSync(path, 16384), "ok"],
    ["removed", (path) => rmSync(path), "ENOENT"],
    [
      "replaced",
      (path) => {
        writeFileSync(`${path}.new`, Buffer.alloc(8192, 0x6e));
        renameSync(`${path}.new`, path);
      },
      "ok",
    ],
  ];

for (const [name, change, code] of changes) {
  test(`a file that was ${name} is seen as it is: ${code}`, () => {
    const { files, adopted } = createFiles();
    const path = ram(8192);
    files.pieces(path, 0, 8192)[0]?.bytes.fill(0x6f);
    change(path);
    files.sweep([]);
    assert.equal(adopted.length, name.startsWith("the control") ? 1 : 0);
    if (code === "ok") {
      const [piece] = files.pieces(path, 8000, 8);
      assert.equal(piece?.bytes[0], readFileSync(path)[8000]);
      assert.equal(adopted.length, 1);
    } else {
      assert.throws(() => files.pieces(path, 8000, 8), isFileError(code));
    }
  });
}

/** Locks memory as a driver does: all of its pages are put in place. */
const lock =
  (adopted: number[]): GpuContext["adoptHost"] =>
  (bytes) => {
    for (let at = 0; at < bytes.length; at += 4096) bytes[at] = bytes[at] ?? 0;
    return adopt(adopted)(bytes);
  };

const losses: readonly (readonly [
  name: string,
  change: (path: string) => void,
  isLost: boolean,
])[] = [
  ["the control: nothing", () => undefined, false],
  ["written to", (path) => writeInto(path, Buffer.alloc(65_536, 1)), false],
  ["cut short, and grown again", (path) => regrow(path), true],
  [
    "made anew in place",
    (path) => writeFileSync(path, Buffer.alloc(2 ** 21, 2), { flag: "w" }),
    true,
  ],
  ["punched", (path) => punch(path), true],
  [
    "punched, and written to again",
    (path) => {
      punch(path);
      writeInto(path, Buffer.alloc(2 ** 20, 5));
    },
    true,
  ],
  ["punched where the job does not look", (path) => punch(path, 2 ** 20), false],
];

function punch(path: string, offset = 65_536): void {
  execFileSync("fallocate", ["-p", "-o", String(offset), "-l", "65536", path]);
}

function writeInto(path: string, bytes: Uint8Array): void {
  const file = openSync(path, "r+");
  writeSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
}

function regrow(path: string): void {
  truncateSync(path, 0);
  truncateSync(path, 2 ** 21);
}

const hasFallocate = spawnSync("fallocate", ["--version"]).status === 0;

for (const [name, change, isLost] of losses) {
  const skip =
    name.startsWith("punched") && !hasFallocate ? "no fallocate(1) on this machine" : false;
  const become = isLost ? "locked anew" : "kept";
  test(`locked pages of a file that was ${name} are ${become}`, { skip }, () => {
    const adopted: number[] = [];
    const { files } = createFiles(lock(adopted));
    const path = ram(2 ** 21);
    const uses = [{ path, offset: 0, bytes: 2 ** 20 }];
    files.pieces(path, 0, 16);
    files.sweep(uses);
    assert.equal(adopted.length, 1);
    change(path);
    files.sweep(uses);
    assert.equal(adopted.length, isLost ? 0 : 1);
    assert.equal(files.pieces(path, 0, 1)[0]?.bytes[0], readFileSync(path)[0]);
    assert.equal(adopted.length, 1);
  });
}

test("holes of a range are filled before they are touched, and no others", () => {
  const { files } = createFiles();
  const path = ram(64 * 2 ** 20);
  files.pieces(path, 3 * 2 ** 20, 2 ** 20);
  assert.equal(statSync(path).blocks * 512, 2 * 2 ** 20);
});

test("holes that were punched later are filled as well", { skip: !hasFallocate }, () => {
  const { files } = createFiles();
  const path = ram(2 ** 21);
  files.pieces(path, 0, 2 ** 21);
  files.sweep([]);
  punch(path);
  const punched = statSync(path).blocks;
  files.sweep([]);
  files.pieces(path, 0, 2 ** 21);
  assert.ok(statSync(path).blocks > punched);
});

test("what cannot be locked is told once, and its pieces must be staged", () => {
  const refusal = {
    code: "unavailable",
    driverCode: 801,
    errorName: "CUDA_ERROR_NOT_SUPPORTED",
    call: "cuMemHostRegister_v2",
    message: "8192 bytes cannot be page-locked",
  } as const;
  const { files, notes } = createFiles(() => ({ ok: false, error: refusal }));
  const path = ram(2 * GIB);
  for (let round = 0; round < 3; round++) {
    assert.deepEqual(
      files.pieces(path, round * 2 ** 29, 16).map(({ pinned }) => pinned),
      [null],
    );
  }
  assert.equal(notes.length, 1);
  assert.match(notes[0] ?? "", /ram-\d+ is copied in two steps, since 8192 bytes cannot/);
});

test("the files of guests that come no more make room", () => {
  const { files, adopted } = createFiles();
  const paths = Array.from({ length: 70 }, () => ram(4096));
  for (const path of paths) files.pieces(path, 0, 16);
  const [first = ""] = paths;
  files.pieces(first, 0, 16);
  files.sweep([]);
  assert.equal(adopted.length, 64);
  files.pieces(first, 0, 16);
  assert.equal(adopted.length, 64, "the one that was used last is among those kept");
});
