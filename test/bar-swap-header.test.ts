// include/holdfast/bar_swap.h against src/board/bar-swap-abi.ts: compiled by the compilers that are
// here, and asked for the layout and the numbers that came out.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  BAR_SWAP_LAYOUT,
  BAR_SWAP_PATH,
  BAR_SWAP_REQUEST,
  BAR_SWAP_VERSION,
  decodeAcquire,
  decodeDie,
  decodeQuery,
  HOLDER_UNSEEN,
  newStructure,
} from "../src/board/bar-swap-abi.ts";

const INCLUDE = fileURLToPath(new URL("../../include", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "holdfast-bar-swap-"));
after(() => rmSync(folder, { recursive: true }));

const missing = (compiler: string): string | false =>
  spawnSync(compiler, ["--version"], { stdio: "ignore" }).status === 0
    ? false
    : `there is no ${compiler} on this machine`;

const structures = Object.entries(BAR_SWAP_LAYOUT);

/** What the header has to come out as, a line each. */
const EXPECTED = [
  ...structures.flatMap(([name, { bytes, offsets }]) => [
    `${name} ${bytes}`,
    ...Object.entries(offsets).map(([field, offset]) => `${name}.${field} ${offset}`),
  ]),
  ...Object.entries(BAR_SWAP_REQUEST).map(([name, number]) => `${name} ${number}`),
  `version ${BAR_SWAP_VERSION}`,
  `unseen ${HOLDER_UNSEEN}`,
  `path ${BAR_SWAP_PATH}`,
];

const SOURCE = [
  "#include <stddef.h>",
  "#include <stdio.h>",
  '#include "holdfast/bar_swap.h"',
  "int main(void)",
  "{",
  ...structures.flatMap(([name, { offsets }]) => [
    `    printf("${name} %u\\n", (unsigned)sizeof(struct ${name}));`,
    ...Object.keys(offsets).map(
      (field) =>
        `    printf("${name}.${field} %u\\n", (unsigned)offsetof(struct ${name}, ${field}));`,
    ),
  ]),
  ...Object.keys(BAR_SWAP_REQUEST).map(
    (name) => `    printf("${name} %lu\\n", (unsigned long)${name});`,
  ),
  '    printf("version %d\\n", HF_BAR_SWAP_VERSION);',
  '    printf("unseen %d\\n", HF_BAR_SWAP_UNSEEN);',
  '    printf("path %s\\n", HF_BAR_SWAP_PATH);',
  "    return 0;",
  "}",
  "",
].join("\n");

function build(compiler: string, standard: string, source: string): string {
  const program = join(folder, `program-${standard}`);
  const words = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", `-std=${standard}`, "-I", INCLUDE];
  const run = spawnSync(compiler, [...words, "-o", program, source], { encoding: "utf8" });
  assert.equal(run.status, 0, run.stderr);
  return program;
}

for (const [compiler, standard, file] of [
  ["cc", "c99", "layout.c"],
  ["cc", "c17", "layout.c"],
  ["c++", "c++11", "layout.cc"],
  ["c++", "c++17", "layout.cc"],
] as const) {
  test(`layout and numbers by ${compiler} ${standard}`, { skip: missing(compiler) }, () => {
    const source = join(folder, file);
    writeFileSync(source, SOURCE);
    const run = spawnSync(build(compiler, standard, source), { encoding: "utf8" });
    assert.deepEqual(run.stdout.trimEnd().split("\n"), EXPECTED);
  });
}

/** Fills each structure with numbers of its own, as a kernel module would. */
const FILL = `#include <stdio.h>
#include "holdfast/bar_swap.h"
int main(void)
{
    struct hf_bar_swap_query query = { 1, 4, HF_BAR_SWAP_NONE, 77, 0x123456789abcull };
    struct hf_bar_swap_die die = { 3, 0x1000, 0xaf, 0x1f, 7, 0, 0x400000000ull };
    struct hf_bar_swap_acquire acquire = { 3, 0, 0x3800000000ull, 0x400000000ull };
    fwrite(&query, sizeof query, 1, stdout);
    fwrite(&die, sizeof die, 1, stdout);
    fwrite(&acquire, sizeof acquire, 1, stdout);
    return 0;
}
`;

test("what a module fills in is what we read", { skip: missing("cc") }, () => {
  const source = join(folder, "fill.c");
  writeFileSync(source, FILL);
  const bytes = spawnSync(build("cc", "c99", source), { encoding: "buffer" }).stdout;
  const view = (from: number, to: number): DataView =>
    new DataView(Uint8Array.from(bytes.subarray(from, to)).buffer);
  assert.deepEqual(decodeQuery(view(0, 24)), {
    ...{ version: 1, dieCount: 4, occupant: null, holderPid: 77 },
    acquires: String(0x1234_5678_9abcn),
  });
  assert.deepEqual(decodeDie(view(24, 56)), {
    address: "1000:af:1f.7",
    bar1Bytes: String(0x4_0000_0000n),
  });
  assert.deepEqual(decodeAcquire(view(56, 80)), {
    bar1Address: String(0x38_0000_0000n),
    bar1Bytes: String(0x4_0000_0000n),
  });
  assert.equal(newStructure("hf_bar_swap_acquire", 3).getUint32(0, true), 3);
});
