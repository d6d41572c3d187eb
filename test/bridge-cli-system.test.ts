// The bridge's commands as processes, over an owner in memory: what they refuse, what they print,
// and that their checks can fail.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
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
  [`${V2} --fault smoke`, /--fault: 'smoke' is no fault; write e\.g\. wrong-element:1/],
  [`${V2} --fault wrong-element:x`, /--fault: 'x' is no whole number from 0 to/],
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

type BenchJson = {
  readonly device: string;
  readonly rounds: readonly {
    readonly elements: number;
    readonly mailboxes: number;
    readonly latencyNs: { count: number; min: number; p50: number; p95: number; p99: number };
    readonly kernelNs: { count: number };
    readonly jobsPerSecond: number;
  }[];
  readonly cpuBaseline: readonly { elements: number; timeNs: { p50: number } }[];
  readonly stress: { jobs: number; elements: number; kernelMs: number } | null;
};

suite("bench", () => {
  test("measures five rounds, the processor and, where asked, a stress; in JSON too", () => {
    const { code, output, errors } = cli("bench --round-ms 50 --big-iters 1 --json");
    assert.equal(code, 0, errors);
    assert.match(errors, /^measuring n=1024 on one mailbox$/m);
    const value = JSON.parse(output) as BenchJson;
    assert.deepEqual(
      value.rounds.map(({ elements, mailboxes }) => [elements, mailboxes]),
      [...[1024, 1048576, 16777216].map((n) => [n, 1]), ...[1024, 1048576].map((n) => [n, 2])],
    );
    for (const { latencyNs, kernelNs, jobsPerSecond, mailboxes } of value.rounds) {
      const { count, min, p50, p95, p99 } = latencyNs;
      assert.ok(count >= mailboxes && kernelNs.count === count && jobsPerSecond > 0);
      assert.ok(0 < min && min <= p50 && p50 <= p95 && p95 <= p99);
    }
    assert.ok(value.cpuBaseline.every(({ timeNs }) => timeNs.p50 > 0));
    assert.deepEqual([value.stress?.jobs, value.stress?.elements], [1, 16777216]);
  });

  test("a job that goes wrong ends it with 1", () => {
    const cause = { name: "CUDA_ERROR_X", code: 1, call: "cuX", message: "it burns" };
    const result = { status: "device_error", cause };
    const { code, errors } = cli("bench --round-ms 50", { result });
    assert.equal(code, 1);
    assert.match(errors, /holdfast: n=1024: seq 1 ended with status 9/);
  });
});

suite("evidence", () => {
  test("is six files, each headed by its command, the date and the machine", () => {
    const words = "evidence --dir seen --round-ms 50 --big-iters 1";
    const { code, output, errors } = cli(words);
    assert.equal(code, 0, errors + output);
    const files = readdirSync(join(folder, "seen")).sort();
    assert.deepEqual(files, [
      ...["01-self-test.txt", "02-utilisation.txt", "03-timings.txt"],
      ...["04-device.txt", "05-mutation.txt", "06-daemon-transport.txt"],
    ]);
    const texts = files.map((file) => readFileSync(join(folder, "seen", file), "utf8"));
    for (const [index, text] of texts.entries()) {
      assert.match(text, /^\$ holdfast [a-z]/);
      assert.match(text, /\ndate {2}\d{4}-\d\d-\d\d \d\d:\d\d UTC\nhost {2}Linux \d+\.\d+ /);
      // As a word: a short name may stand in a scratch folder's, which is random.
      assert.ok(!text.split(/[^\w.-]+/).includes(hostname()), files[index]);
      assert.match(output, new RegExp(`^PASS seen/${files[index] ?? ""}$`, "m"));
    }
    const [selfTest, utilisation, timings, device, mutation, transport] = texts;
    assert.match(selfTest ?? "", /PASS v1 vadd high[^]*\nPASS\n\(exit 0\)\n$/);
    assert.match(utilisation ?? "", /idle: [^]*samples above 0 %[^]*stress: 1 vadd jobs/);
    assert.match(timings ?? "", /CPU baseline[^]*p99[^]*\(exit 0\)\n$/);
    assert.match(device ?? "", /DEVICE die=0 backend=soft name="Fake die"/);
    assert.match(mutation ?? "", /checksum=393392666\.500000[^]*\(exit 0\)\n$/);
    assert.match(transport ?? "", /producer: PASS seq=1000 [^]*producer: PASS seq=1001 /);
    assert.match(transport ?? "", /the daemon exited with 0\n\nPASS\n$/);
  });

  test("of a device that is wrong says so, and ends with 1", () => {
    const words = "evidence --dir wrong --round-ms 50 --big-iters 1";
    const { code, output } = cli(words, { kernels: "off" });
    assert.equal(code, 1);
    assert.match(output, /^FAIL wrong\/01-self-test\.txt$/m);
    assert.match(output, /^FAIL wrong\/06-daemon-transport\.txt$/m);
  });

  test("a folder that cannot be made is 2", () => {
    const { code, errors } = cli("evidence --dir broken.json/x");
    assert.equal(code, 2);
    assert.match(errors, /^holdfast: mkdir .*; --dir names another folder\n$/);
  });
});
