// The bridge's commands as processes, over an owner in memory: what they refuse, what they print,
// and that their checks can fail.
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { parseJobLine } from "../src/cli/bridge/job-line.ts";
import { runFake, testFolder, type Finished } from "./fakes/spawn-fake.ts";

const folder = testFolder();
const cli = (words: string, options: object = {}): Finished =>
  runFake(words.split(" ").filter(Boolean), { folder, options: { kernels: "right", ...options } });

const V2 = "bridge --job j --in i --out o --done d";
const V1 = "bridge --job j --done d --ram r";

writeFileSync(join(folder, "broken.json"), "{");
const ENTRY = { name: "one", job: "j", in: "i", out: "o", done: "d" };
writeFileSync(join(folder, "twins.json"), JSON.stringify({ bridges: [ENTRY, ENTRY] }));

const BAD_USAGE: readonly (readonly [words: string, error: RegExp])[] = [
  ["bridge", /nothing to serve; give --job.*--ram.*--config/],
  ["bridge --job j --in i --out o", /--done is missing/],
  ["bridge --in i --out o --done d", /--job is missing/],
  ["bridge --job j --done d", /--in and --out missing for v2; for v1 give --ram/],
  [`${V2} --ram r`, /--in and --out of v2 beside --ram of v1/],
  [`${V2} --ram-low-size 1Gi`, /--ram-low-size is of v1; give --ram too/],
  [`${V1} --modules m`, /--modules of v2 beside --ram of v1/],
  [`${V1} --ram-low-size 1x`, /--ram-low-size: '1x' is no size/],
  [`${V1} --ram-low-size 5Gi`, /RAM below the PCI hole/],
  [`${V2} --config twins.json`, /--job, --in, --out, --done beside --config/],
  ["bridge --config none.json", /none\.json/],
  ["bridge --config broken.json", /no JSON/],
  ["bridge --config twins.json", /two mailboxes are called one/],
  ["bridge --job j --in i --out j --done d", /its out is the job of/],
  [`${V2} --modules none-such`, /none-such cannot be looked at/],
  [`${V2} --verify most`, /--verify: 'most' is none of auto, full, sample, none/],
  [`${V2} --poll-us 0`, /--poll-us: '0' is no whole number from 1 to 1000000/],
  [`${V2} --die 32`, /--die: '32' is no whole number from 0 to 31/],
  [`${V2} --timeout-max-ms 10`, /--timeout-max-ms 10 is below --timeout-ms 60000/],
  [`${V2} extra`, /surplus argument 'extra'/],
  ["self-test --dir none-such", /mkdtemp .*none-such.*ENOENT; --dir names another folder/],
  ["self-test --die 32", /--die: '32'/],
  ["bench --big-iters 0", /--big-iters: '0' is no whole number from 1/],
  ["evidence --big-iters x", /--big-iters: 'x'/],
];

suite("bad usage is one line and 2:", () => {
  for (const [words, error] of BAD_USAGE) {
    test(words, () => {
      const { code, output, errors } = cli(words);
      assert.deepEqual([code, output], [2, ""]);
      const last = errors.trimEnd().split("\n").at(-1) ?? "";
      assert.match(last, error);
      assert.match(last, /^holdfast: /);
    });
  }
});

test("no device is 3, for each of them", () => {
  const refuse = { code: "no_device", message: "no GPU; use --backend soft" };
  for (const words of [V2, `${V1} --once`, "self-test", "mutation-test", "bench"]) {
    const { code, errors } = cli(words, { refuse });
    assert.equal(code, 3, words);
    assert.match(errors, /holdfast: no GPU; use --backend soft/);
  }
});

const leftOver = (): readonly string[] =>
  readdirSync(folder).filter((name) => name.startsWith("holdfast-"));

const jobLines = (output: string): readonly string[] =>
  output.split("\n").filter((line) => parseJobLine(line) !== null);

const CHECKS = 16;

type SelfTestJson = {
  readonly pass: boolean;
  readonly checks: readonly { name: string; pass: boolean; seen: string }[];
  readonly jobLines: readonly string[];
};

suite("self-test", () => {
  test("passes, a line a check, and leaves no file where it made them", () => {
    const { code, output } = cli("self-test --dir .");
    assert.equal(code, 0, output);
    const checks = output.split("\n").filter((line) => /^PASS v[12] /.test(line));
    assert.equal(checks.length, CHECKS);
    assert.match(output, /^PASS v1 vadd high: .*checksum 392344090\.500000, c at 0x16000000c/m);
    assert.match(output, /^check +took +result$/m);
    assert.equal(output.trimEnd().split("\n").at(-1), "PASS");
    assert.ok(jobLines(output).length > CHECKS);
    assert.deepEqual(leftOver(), []);
  });

  test("fails with 1 where outputs are wrong that are said to be right; in JSON too", () => {
    const { code, output } = cli("self-test --json", { kernels: "off" });
    assert.equal(code, 1);
    const value = JSON.parse(output) as SelfTestJson;
    const failed = value.checks.filter(({ pass }) => !pass);
    assert.equal(value.pass, false);
    assert.equal(value.checks.length, CHECKS);
    assert.deepEqual(
      failed.map(({ name }) => name),
      [
        ...["v1 mail", "v1 vadd low", "v1 vadd high"],
        ...["v2 mail", "v2 vadd", "v2 slow_add", "v2 launch"],
      ],
    );
    assert.ok(failed.every(({ seen }) => seen.includes("not true: ")));
    assert.ok(value.jobLines.every((line) => parseJobLine(line) !== null));
  });
});

suite("mutation-test", () => {
  test("passes where op 3 is seen to be wrong in each element, and shows both job lines", () => {
    const { code, output } = cli("mutation-test");
    assert.equal(code, 0, output);
    const [two = "", three = ""] = jobLines(output);
    assert.match(two, / op=2 .*status=ok checksum=392344090\.500000 bad=0 /);
    assert.match(three, / op=3 .*status=verify_failed checksum=393392666\.500000 bad=1048576 /);
    assert.match(output, /c\[0\] 0\.0 and 1\.0\nPASS\n$/);
  });

  test("fails with 1 where op 3 is op 2; in JSON too", () => {
    const { code, output } = cli("mutation-test --json", { kernels: "blind" });
    assert.equal(code, 1);
    const value = JSON.parse(output) as { pass: boolean; seen: string; jobLines: string[] };
    assert.equal(value.pass, false);
    assert.match(value.seen, /op 3 is seen to be wrong in every element/);
    assert.equal(value.jobLines.length, 2);
  });
});
