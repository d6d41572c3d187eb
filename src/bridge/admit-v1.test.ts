import assert from "node:assert/strict";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import type { CubbJob, StatusName } from "../records/mod.ts";
import { admitV1 } from "./admit-v1.ts";
import { cubbJob, mailboxV1In } from "./testing.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-bridge-"));
after(() => rmSync(folder, { recursive: true }));

const baseModule = { name: "base.ptx", path: "/base.ptx" };
const mailbox = mailboxV1In(folder);
// Sparse: 4 GiB of a guest that has 2 GiB below the hole.
writeFileSync(mailbox.ram, "");
truncateSync(mailbox.ram, 2 ** 32);

const HIGH = 2n ** 32n;
const LOW_END = 2n ** 31n;

const vadd = (more: Partial<CubbJob>): Partial<CubbJob> => ({
  op: 2,
  n: 1024,
  gpaA: 0n,
  gpaB: 0x1000n,
  gpaC: 0x2000n,
  ...more,
});

const CASES: readonly (readonly [
  name: string,
  record: Partial<CubbJob>,
  status: StatusName,
  reason?: RegExp,
])[] = [
  ["mail", {}, "ok"],
  ["vadd", vadd({}), "ok"],
  ["vadd above the hole", vadd({ gpaA: HIGH, gpaB: HIGH + 0x1000n, gpaC: HIGH + 0x2000n }), "ok"],
  ["the mutation, over both", vadd({ op: 3, gpaC: HIGH }), "ok"],
  ["one operand twice", vadd({ gpaB: 0n }), "ok"],
  ["op 0", { op: 0 }, "unknown_op"],
  ["op 4, which v1 has not", { op: 4 }, "unknown_op", /op 4 is none of 1 to 3/],
  ["op 256, which v1 has not", { op: 256 }, "unknown_op"],
  ["op before n", { op: 4, n: 0 }, "unknown_op"],
  ["n 0", { n: 0 }, "bad_size"],
  ["n beyond all", { n: 2 ** 28 + 1 }, "too_large"],
  ["the greatest n", { n: 2 ** 32 - 1 }, "too_large"],
  ["a that is misaligned", { gpaA: 2n }, "misaligned", /gpa_a 0x2 is no multiple of 4/],
  ["b that is misaligned", vadd({ gpaB: 0x1001n }), "misaligned", /gpa_b/],
  ["c that is misaligned", { gpaC: 0x1003n }, "misaligned", /gpa_c/],
  ["b that mail does not look at", { gpaB: 2n ** 64n - 1n }, "ok"],
  ["misaligned before out of bounds", { gpaA: LOW_END + 2n }, "misaligned"],
  ["a in the hole", { gpaA: LOW_END }, "out_of_bounds", /gpa_a: 16 bytes at .* 0x80000000/],
  ["a that crosses into the hole", { gpaA: LOW_END - 12n }, "out_of_bounds"],
  ["a that ends before it", { gpaA: LOW_END - 16n }, "ok"],
  ["c that crosses out of the hole", { gpaC: HIGH - 4n }, "out_of_bounds", /gpa_c/],
  ["c at the end of RAM", { gpaC: HIGH + LOW_END - 16n }, "ok"],
  ["c beyond the end of RAM", { gpaC: HIGH + LOW_END - 12n }, "out_of_bounds"],
  ["the greatest address", { gpaA: 2n ** 64n - 4n }, "out_of_bounds"],
  ["c over a", { gpaC: 0n }, "out_of_bounds", /overlaps an operand/],
  ["c over the end of a", { gpaC: 12n }, "out_of_bounds"],
  ["c right behind a", { gpaC: 16n }, "ok"],
  ["c over b", vadd({ gpaC: 0x1ffcn }), "out_of_bounds", /overlaps an operand/],
  ["c right before a", { gpaA: 16n, gpaC: 0n }, "ok"],
];

for (const [name, record, status, reason] of CASES) {
  test(`admission of v1: ${name}: ${status}`, () => {
    const admitted = admitV1(cubbJob(record), { mailbox, baseModule });
    assert.equal(admitted.ok ? "ok" : admitted.error.status, status);
    if (!admitted.ok && reason !== undefined) assert.match(admitted.error.reason, reason);
  });
}

test("the job names offsets in the RAM file", () => {
  const record = cubbJob(vadd({ seq: 3n, gpaB: HIGH + 0x40n, gpaC: HIGH }));
  assert.ok(!admitV1(record, { mailbox, baseModule }).ok, "c overlaps b");
  const admitted = admitV1({ ...record, gpaC: HIGH + 0x2000n }, { mailbox, baseModule });
  assert.ok(admitted.ok);
  const [buffer, path] = [{ kind: "buffer", bytes: 4096 }, mailbox.ram];
  const memory = (offset: number) => ({ kind: "memory", path, offset });
  assert.deepEqual(admitted.value, {
    module: baseModule,
    entry: "vadd",
    grid: [4, 1, 1],
    block: [256, 1, 1],
    sharedBytes: 0,
    arguments: [
      { ...buffer, source: { kind: "zero" }, target: memory(2 ** 31 + 0x2000) },
      { ...buffer, source: memory(0), target: null },
      { ...buffer, source: memory(2 ** 31 + 0x40), target: null },
      { kind: "scalar", type: "u32", value: "1024" },
    ],
    check: {
      reference: "vadd",
      extent: "full",
      elements: 1024,
      iterations: 0,
      sampleSeed: "3",
      sums: [{ argument: 0, type: "f32" }],
    },
    timeoutMs: 1000,
  });
});

test("RAM that is missing, no plain file, or smaller than the low part", () => {
  const missing = { ...mailbox, ram: join(folder, "none") };
  const refused = admitV1(cubbJob(), { mailbox: missing, baseModule });
  assert.ok(!refused.ok && refused.error.status === "io_error");
  const other = { ...mailbox, ram: folder };
  const named = admitV1(cubbJob(), { mailbox: other, baseModule });
  assert.ok(!named.ok && named.error.status === "io_error");
  assert.equal(named.error.reason, `${folder} is no plain file`);
  const device = admitV1(cubbJob(), { mailbox: { ...mailbox, ram: "/dev/zero" }, baseModule });
  assert.ok(!device.ok && device.error.status === "io_error");
  const small = { ...mailbox, ram: join(folder, "small") };
  writeFileSync(small.ram, new Uint8Array(0x1010));
  assert.ok(admitV1(cubbJob(), { mailbox: small, baseModule }).ok);
  const beyond = admitV1(cubbJob({ n: 8 }), { mailbox: small, baseModule });
  assert.ok(!beyond.ok && beyond.error.status === "out_of_bounds");
});
