/** Builds the fake driver into a temporary folder, once a process, and copies it for each user. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCES = [
  "control",
  "driver",
  "kernels",
  "memory",
  "module",
  "objects",
  "ptx",
  "stream",
].map((name) => `fake-${name}.c`);

/** From dist/test/fake-libcuda to the sources' own folder. */
const SOURCE_FOLDER = fileURLToPath(new URL("../../../test/fake-libcuda/", import.meta.url));

/** Without fused multiply-add and reordering, so that C's floats are the references'. */
const FLAGS = [
  "-std=c11",
  "-D_POSIX_C_SOURCE=200809L",
  "-O1",
  "-ffp-contract=off",
  "-Wall",
  "-Wextra",
  "-Werror",
];

/** What a build can lack, to be another driver. */
export type FakeVariant = "WITHOUT_STREAM_QUERY" | "WITHOUT_PARAM_INFO";

/** Null where there is a C compiler; otherwise why the tests that need the fake are skipped. */
export const fakeSkipReason: string | null =
  spawnSync("cc", ["--version"]).status === 0 ? null : "no C compiler (cc) on this machine";

const folder = mkdtempSync(join(tmpdir(), "holdfast-fake-"));
process.on("exit", () => {
  rmSync(folder, { recursive: true, force: true });
});

const built = new Map<string, string>();
let copies = 0;

/**
 * The path of a fake driver of its own: each copy is another library to the loader, with a state
 * of its own, so that a process-wide fault in one harms no other.
 */
export function fakeLibcuda(variant?: FakeVariant): string {
  const key = variant ?? "whole";
  const path = built.get(key) ?? build(key, variant === undefined ? [] : [`-D${variant}`]);
  copies += 1;
  const copy = join(folder, `libcuda-${copies}.so.1`);
  copyFileSync(path, copy);
  return copy;
}

function build(key: string, defines: readonly string[]): string {
  const path = join(folder, `${key}.so`);
  const sources = SOURCES.map((name) => join(SOURCE_FOLDER, name));
  const flags = [...FLAGS, "-fPIC", "-fvisibility=hidden", "-shared", ...defines, "-o", path];
  const result = spawnSync("cc", [...flags, ...sources], { encoding: "utf8" });
  if (result.status !== 0) throw new Error(`the fake driver does not build:\n${result.stderr}`);
  built.set(key, path);
  return path;
}
