import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { addressOf, loadLibrary, NATIVE_VIEW_BYTES_MAX, viewOf } from "./native-ffi.ts";

const THREADED_SOURCE = `
#include <pthread.h>
#include <unistd.h>
static void *tick(void *unused) { for (;;) usleep(1000); return unused; }
int begin(void) { pthread_t thread; return pthread_create(&thread, 0, tick, 0); }
`;

/** Main thread: runs the worker to its end, then lives on for long enough to crash. */
const CHILD_SOURCE = `
import { Worker } from "node:worker_threads";
import { setTimeout as sleep } from "node:timers/promises";
const [, , loader, library, how] = process.argv;
const body = \`
  import { loadLibrary } from \${JSON.stringify(loader)};
  const table = { begin: { args: [], result: "int32" } };
  const bound = loadLibrary(\${JSON.stringify(library)}).value.bind(table);
  if (bound.value.begin() !== 0) throw new Error("no thread");
  if (\${JSON.stringify(how)} === "exit") process.exit(0);
\`;
const worker = new Worker(new URL("data:text/javascript," + encodeURIComponent(body)));
await new Promise((resolve, reject) => { worker.on("exit", resolve); worker.on("error", reject); });
globalThis.gc();
await sleep(100);
console.log("alive");
`;

const hasCompiler = spawnSync("cc", ["--version"]).status === 0;

for (const how of ["exit", "end"]) {
  const skip = hasCompiler ? false : "no C compiler (cc) on this machine";
  test(`a library with threads survives the worker that loaded it (by ${how})`, { skip }, () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-native-"));
    try {
      const [source, library, child] = ["t.c", "libt.so", "child.mjs"].map((name) =>
        join(folder, name),
      ) as [string, string, string];
      writeFileSync(source, THREADED_SOURCE);
      writeFileSync(child, CHILD_SOURCE);
      const flags = ["-shared", "-fPIC", "-pthread", "-o", library, source];
      const built = spawnSync("cc", flags, { encoding: "utf8" });
      assert.equal(built.status, 0, built.stderr);
      const loader = new URL("./native-ffi.js", import.meta.url).href;
      const run = spawnSync(process.execPath, ["--expose-gc", child, loader, library, how], {
        encoding: "utf8",
        timeout: 60_000,
      });
      assert.equal(run.signal, null, "the process died of a signal");
      assert.equal(run.stdout, "alive\n", run.stderr);
      assert.equal(run.status, 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

test("importing the loader does not load the FFI package", () => {
  const module = new URL("./mod.js", import.meta.url).href;
  const script = `
    import { createRequire } from "node:module";
    const { loadLibrary } = await import(${JSON.stringify(module)});
    const loaded = () => Object.keys(createRequire(import.meta.url).cache ?? {}).concat(
      process.report.getReport().sharedObjects).filter((path) => path.includes("koffi")).length > 0;
    const before = loaded();
    loadLibrary("libc.so.6");
    console.log(before, loaded());
  `;
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
    encoding: "utf8",
  });
  assert.equal(run.stdout, "false true\n", run.stderr);
});

test("a library that is not there is an error in the loader's own words", () => {
  const library = loadLibrary("libholdfast-is-not-there.so.1");
  assert.ok(!library.ok);
  assert.equal(library.error.code, "library_not_found");
  assert.match(library.error.message, /libholdfast-is-not-there\.so\.1: cannot open/);
});

test("a symbol that is not there is an error that names it", () => {
  const library = loadLibrary("libm.so.6");
  assert.ok(library.ok);
  const table = {
    cbrt: { args: ["double"], result: "double" },
    nonesuch: { args: [], result: "void" },
  } as const;
  const bound = library.value.bind(table);
  assert.ok(!bound.ok);
  assert.equal(bound.error.code, "symbol_not_found");
  assert.match(bound.error.message, /libm\.so\.6 has no symbol nonesuch/);
  assert.ok(library.value.has("cbrt") && !library.value.has("nonesuch"));
});

const libc = (() => {
  const library = loadLibrary("libc.so.6");
  assert.ok(library.ok, "this suite runs on glibc");
  const bound = library.value.bind({
    malloc: { args: ["uint64"], result: "handle" },
    free: { args: ["handle"], result: "void" },
    memcpy: { args: ["handle", "pointer", "uint64"], result: "handle" },
    strtoull: { args: ["string", "pointer", "int32"], result: "uint64" },
    strerror: { args: ["int32"], result: "string" },
    abs: { args: ["int32"], result: "int32" },
  });
  assert.ok(bound.ok);
  return bound.value;
})();

test("bound functions give C's values", () => {
  assert.equal(libc.abs(-7), 7);
  assert.equal(libc.strerror(2), "No such file or directory");
});

test("a 64-bit result is a bigint, small or large", () => {
  assert.equal(libc.strtoull("5", null, 10), 5n);
  assert.equal(libc.strtoull("18446744073709551615", null, 10), 2n ** 64n - 1n);
});

test("viewOf sees native memory in place, and addressOf finds it again", () => {
  const address = libc.malloc(4096n);
  const view = viewOf(address, 4096);
  libc.memcpy(address, Uint8Array.of(1, 2, 3), 3n);
  assert.deepEqual(Array.from(view.subarray(0, 3)), [1, 2, 3]);
  assert.equal(addressOf(view), address);
  assert.equal(addressOf(view.subarray(16)), address + 16n);
  libc.free(address);
});

test("viewOf refuses what would abort the process", () => {
  for (const bytes of [-1, NaN, NATIVE_VIEW_BYTES_MAX + 1]) {
    assert.throws(() => viewOf(4096n, bytes), RangeError);
  }
});
