// The C header against the records: compiled by every compiler that is here, in every standard that
// it promises, and asked for the layout that came out.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { RECORDS } from "../src/records/documents.ts";
import { crc32c, STATUS } from "../src/records/mod.ts";
import { snakeCase } from "../src/records/record.ts";

const INCLUDE = fileURLToPath(new URL("../../include", import.meta.url));
const WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

const folder = mkdtempSync(join(tmpdir(), "holdfast-header-"));
after(() => rmSync(folder, { recursive: true }));

const hasCompiler = (name: string): boolean =>
  spawnSync(name, ["--version"], { stdio: "ignore" }).status === 0;

const missing = (compiler: string): string | false =>
  hasCompiler(compiler) ? false : `there is no ${compiler} on this machine`;

function writeSource(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Compiles; what the compiler says is the error. */
function compile(compiler: string, words: readonly string[]): void {
  const run = spawnSync(compiler, [...WARNINGS, ...words], { encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
}

/** Prints, in a line each, every record's size and every field's offset and size. */
const LAYOUT_SOURCE = [
  "#include <stdio.h>",
  '#include "holdfast/records.h"',
  "#define SHOW(record, field) \\",
  '    printf(#record "." #field " %u %u\\n", (unsigned)offsetof(struct record, field), \\',
  "           (unsigned)sizeof(((struct record *)0)->field))",
  "int main(void)",
  "{",
  ...RECORDS.flatMap(({ cName, fields }) => [
    `    printf("${cName} 0 %u\\n", (unsigned)sizeof(struct ${cName}));`,
    ...Object.keys(fields).map((name) => `    SHOW(${cName}, ${snakeCase(name)});`),
  ]),
  "    return 0;",
  "}",
  "",
].join("\n");

const LAYOUT = RECORDS.flatMap(({ cName, bytes, fields, offsets }) => [
  `${cName} 0 ${String(bytes)}`,
  ...Object.entries(fields).map(
    ([name, field]) =>
      `${cName}.${snakeCase(name)} ${String(offsets[name])} ${String(field.bytes)}`,
  ),
]);

suite("layout", () => {
  const cases = [
    ["cc", "-std=c99"],
    ["cc", "-std=c11"],
    ["cc", "-std=c17"],
    ["c++", "-std=c++11"],
    ["c++", "-std=c++17"],
  ] as const;
  for (const [compiler, standard] of cases) {
    test(`${compiler} ${standard}`, { skip: missing(compiler) }, () => {
      const source = writeSource(compiler === "cc" ? "layout.c" : "layout.cc", LAYOUT_SOURCE);
      const program = join(folder, `layout${standard}`);
      compile(compiler, [standard, "-I", INCLUDE, "-o", program, source]);
      const run = spawnSync(program, { encoding: "utf8" });
      assert.deepEqual(run.stdout.trimEnd().split("\n"), LAYOUT);
    });
  }

  test("an offset that is not so does not compile", { skip: missing("cc") }, () => {
    const asserts = (offset: number): string =>
      `#include "holdfast/records.h"\n` +
      `_Static_assert(offsetof(struct hf_cubb2_job, seq) == ${String(offset)}, "seq");\n`;
    const words = ["-std=c11", "-I", INCLUDE, "-c", "-o", join(folder, "assert.o")];
    compile("cc", [...words, writeSource("assert.c", asserts(16))]);
    const source = writeSource("assert.c", asserts(17));
    assert.notEqual(spawnSync("cc", [...words, source], { stdio: "ignore" }).status, 0);
  });
});

/** As much of the kernel's own headers as ours needs. */
const KERNEL_HEADERS = {
  "linux/types.h":
    "typedef unsigned char uint8_t; typedef unsigned short uint16_t;\n" +
    "typedef unsigned int uint32_t; typedef unsigned long long uint64_t;\n" +
    "typedef __SIZE_TYPE__ size_t;\n",
  "linux/stddef.h":
    "#define NULL ((void *)0)\n#define offsetof(type, member) __builtin_offsetof(type, member)\n",
  "linux/build_bug.h":
    "#define static_assert(expr, ...) __static_assert(expr, ##__VA_ARGS__, #expr)\n" +
    "#define __static_assert(expr, msg, ...) _Static_assert(expr, msg)\n",
};

test("compiles as in the kernel, without floats and libc", { skip: missing("cc") }, () => {
  for (const [name, text] of Object.entries(KERNEL_HEADERS)) writeSource(`kernel/${name}`, text);
  const source = writeSource(
    "module.c",
    '#include "holdfast/records.h"\n' +
      "uint64_t bits(const struct hf_cbd2_done *done);\n" +
      "uint64_t bits(const struct hf_cbd2_done *done) { return done->checksum ^ done->seq; }\n",
  );
  const headers = ["-nostdinc", "-isystem", join(folder, "kernel"), "-I", INCLUDE];
  const mode = ["-D__KERNEL__", "-std=gnu11", "-ffreestanding"];
  compile("cc", [...mode, ...headers, "-c", "-o", join(folder, "module.o"), source]);
});

/** Reads a length and so many bytes, until there are none; prints each one's checksum. */
const CRC_SOURCE = `#include <stdio.h>
#include "holdfast/records.h"
static unsigned char bytes[65536];
int main(void)
{
    uint32_t length;
    while (fread(&length, sizeof length, 1, stdin) == 1) {
        if (length > sizeof bytes || fread(bytes, 1, length, stdin) != length)
            return 1;
        printf("%u\\n", (unsigned)hf_crc32c(bytes, length));
    }
    return 0;
}
`;

function frame(bytes: Uint8Array): Uint8Array {
  const framed = new Uint8Array(4 + bytes.length);
  new DataView(framed.buffer).setUint32(0, bytes.length, true);
  framed.set(bytes, 4);
  return framed;
}

test("hf_crc32c agrees with crc32c on random bytes", { skip: missing("cc") }, () => {
  const program = join(folder, "crc");
  compile("cc", ["-std=c11", "-I", INCLUDE, "-o", program, writeSource("crc.c", CRC_SOURCE)]);
  const buffers = fc.array(fc.uint8Array({ maxLength: 2000 }), { minLength: 1, maxLength: 100 });
  fc.assert(
    fc.property(buffers, (given) => {
      const all = [new TextEncoder().encode("123456789"), ...given];
      const run = spawnSync(program, { input: Buffer.concat(all.map(frame)), encoding: "utf8" });
      assert.deepEqual(run.stdout.trimEnd().split("\n").map(Number), all.map(crc32c));
      assert.equal(Number(run.stdout.split("\n", 1)[0]), 0xe306_9283);
    }),
    { numRuns: 5 },
  );
});

test("hf_status_name knows every status, and no other", { skip: missing("cc") }, () => {
  const source = writeSource(
    "names.c",
    '#include <stdio.h>\n#include "holdfast/records.h"\nint main(void)\n{\n' +
      "    for (uint32_t status = 0; hf_status_name(status) != NULL; status++)\n" +
      '        printf("%s %u\\n", hf_status_name(status), (unsigned)status);\n' +
      "    return hf_status_name(0xffffffffu) != NULL;\n}\n",
  );
  const program = join(folder, "names");
  compile("cc", ["-std=c11", "-I", INCLUDE, "-o", program, source]);
  const run = spawnSync(program, { encoding: "utf8" });
  const expected = Object.entries(STATUS).map(([name, status]) => `${name} ${String(status)}`);
  assert.deepEqual(run.stdout.trimEnd().split("\n"), expected);
  assert.equal(run.status, 0);
});
