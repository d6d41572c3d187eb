import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { jobLineJson, parseJobLine } from "./job-line.ts";

const V2 =
  'CUBB2 seq=42 op=2 n=1048576 gpu="A (B) C-D" kernel_ns=41919 status=ok ' +
  "checksum=392344090.500000 bad=0 out_bytes=4194304";
const V1 =
  'CUBB job seq=1000 op=2 n=1048576 gpu="X" kernel_ns=41567 status=ok checksum=-0.500000 bad=0';

suite("a job line", () => {
  test("is read into its record and its values", () => {
    const line = parseJobLine(V2);
    assert.equal(line?.record, "CUBB2");
    assert.deepEqual(
      [...line.values.keys()],
      ["seq", "op", "n", "gpu", "kernel_ns", "status", "checksum", "bad", "out_bytes"],
    );
    assert.equal(line.values.get("gpu"), "A (B) C-D");
    assert.equal(parseJobLine(V1)?.record, "CUBB");
  });

  test("of a job that did not run has an empty gpu", () => {
    const line = parseJobLine('CUBB2 seq=1 op=9 n=0 gpu="" kernel_ns=0 status=unknown_op');
    assert.equal(line?.values.get("gpu"), "");
  });

  for (const other of [
    "",
    "CUBB2",
    "CUBB2 ",
    "CUBB3 seq=1",
    "CUBB2 seq",
    'CUBB2 seq=1 gpu="open',
    "CUBB2 seq=1  op=2",
    `x ${V2}`,
  ]) {
    test(`is told from '${other}'`, () => {
      assert.equal(parseJobLine(other), null);
    });
  }
});

suite("its JSON twin", () => {
  test("has the same keys in the same order, and numbers as numbers", () => {
    const value = JSON.parse(jobLineJson(V2)) as Record<string, unknown>;
    assert.deepEqual(Object.entries(value), [
      ["record", "CUBB2"],
      ["seq", 42],
      ["op", 2],
      ["n", 1048576],
      ["gpu", "A (B) C-D"],
      ["kernel_ns", 41919],
      ["status", "ok"],
      ["checksum", 392344090.5],
      ["bad", 0],
      ["out_bytes", 4194304],
    ]);
  });

  test("keeps every digit of a large sequence number", () => {
    const line = V2.replace("seq=42", "seq=18446744073709551615");
    assert.ok(jobLineJson(line).includes('"seq":18446744073709551615,'));
  });

  test("keeps as text what JSON has no number for", () => {
    for (const checksum of ["nan", "inf", "-inf"]) {
      const line = V2.replace("392344090.500000", checksum);
      assert.equal((JSON.parse(jobLineJson(line)) as { checksum: unknown }).checksum, checksum);
    }
  });

  test("of a device with a number for a name is text", () => {
    const value = JSON.parse(jobLineJson(V2.replace("A (B) C-D", "42"))) as { gpu: unknown };
    assert.equal(value.gpu, "42");
  });

  test("wraps any other line", () => {
    assert.equal(jobLineJson('odd "line"'), '{"line":"odd \\"line\\""}');
  });
});
