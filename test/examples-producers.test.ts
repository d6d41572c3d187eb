// The example producers against answers that a daemon must never give: each check of theirs is seen
// to fail, beside the answer that is right. What answers here is a few lines of this file.
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  CBD2_DONE,
  CUBB2_JOB,
  CUBB_JOB,
  CUBD_DONE,
  decodeLaunchDescriptor,
  OPERATION,
  STATUS,
  type Cbd2Done,
  type Cubb2Job,
} from "../src/records/mod.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const C_SOURCE = join(ROOT, "examples", "c-producer");
const NODE_PRODUCER = join(ROOT, "examples", "node-producer", "producer.js");
const BASE_PTX = join(ROOT, "kernels", "base.ptx");

const noCompiler =
  spawnSync("cc", ["--version"], { stdio: "ignore" }).status === 0
    ? false
    : "there is no cc on this machine";

const root = mkdtempSync(join(tmpdir(), "holdfast-producers-"));
const cProducer = join(root, "c-producer");
after(() => rmSync(root, { recursive: true }));

/** Plenty for a producer that has an answer; one that has none is told to wait less. */
const ANSWER_MS_MAX = 20_000;

type Ended = { readonly code: number; readonly text: string };

type Producer = {
  readonly name: string;
  readonly skip: string | false;
  readonly run: (words: readonly string[]) => Promise<Ended>;
};

const runProgram = (program: string, words: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(program, words, { timeout: ANSWER_MS_MAX }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, text: stdout + stderr });
    });
  });

const C_PRODUCER: Producer = {
  name: "c-producer",
  skip: noCompiler,
  run: (words) => runProgram(cProducer, words),
};

const PRODUCERS: readonly Producer[] = [
  C_PRODUCER,
  {
    name: "node-producer",
    skip: false,
    run: (words) => runProgram(process.execPath, [NODE_PRODUCER, ...words]),
  },
];

before(() => {
  if (noCompiler !== false) return;
  // As its README says, with all that a compiler can complain of besides.
  const sources = ["files", "producer", "sha256", "v1", "v2", "work"];
  const words = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"];
  const paths = sources.map((name) => join(C_SOURCE, `${name}.c`));
  const include = ["-I", join(ROOT, "include")];
  const run = spawnSync("cc", [...words, ...include, "-o", cProducer, ...paths]);
  assert.equal(run.status, 0, run.stderr.toString());
});

type Mailbox = Readonly<Record<"job" | "in" | "out" | "done" | "ram", string>>;

let mailboxes = 0;

function makeMailbox(): Mailbox {
  const folder = join(root, String(mailboxes++));
  mkdirSync(folder);
  const [job, input, out] = [join(folder, "job"), join(folder, "in"), join(folder, "out")];
  return { job, in: input, out, done: join(folder, "done"), ram: join(folder, "ram") };
}

function putWhole(path: string, bytes: Uint8Array): void {
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}

const floatsOf = (bytes: Uint8Array): Float32Array =>
  new Float32Array(Uint8Array.from(bytes).buffer);

async function awaitFile(path: string): Promise<Uint8Array> {
  for (let waitedMs = 0; waitedMs < ANSWER_MS_MAX; waitedMs += 5) {
    if (existsSync(path)) return readFileSync(path);
    await sleep(5);
  }
  throw new Error(`${path} did not appear`);
}

/** What is answered instead of what is right. */
type Lie = {
  readonly done?: Partial<Cbd2Done>;
  /** Takes the encoded record. */
  readonly bytes?: (record: Uint8Array) => Uint8Array;
  readonly result?: (result: Float32Array) => void;
  readonly hasNoOut?: boolean;
};

/** Answers one vadd, right but for the lie. */
async function answerVadd(mailbox: Mailbox, lie: Lie): Promise<Cubb2Job> {
  const decoded = CUBB2_JOB.decode(await awaitFile(mailbox.job));
  assert.ok(decoded.ok);
  const job = decoded.value;
  const n = Number(job.n);
  const operands = floatsOf(readFileSync(mailbox.in)).subarray(job.descBytes / 4);
  const gap = operands.length - 2 * n;
  const result = operands.slice(0, n).map((a, index) => a + (operands[n + gap + index] ?? 0));
  const bad = job.op === OPERATION.vadd_mutated ? job.n : 0n;
  if (job.op === OPERATION.vadd_mutated) result.forEach((c, index) => (result[index] = c + 1));
  lie.result?.(result);
  if (lie.hasNoOut !== true) putWhole(mailbox.out, new Uint8Array(result.buffer));
  const record = CBD2_DONE.encode({
    seq: job.seq,
    op: job.op,
    n: job.n,
    cudaError: 0,
    outBytes: job.outBytes,
    bad,
    kernelNs: 1n,
    wallNs: 1n,
    checksum: 0,
    checked: job.n,
    device: "a test",
    flags: 2,
    status: bad === 0n ? STATUS.ok : STATUS.verify_failed,
    ...lie.done,
  });
  putWhole(mailbox.done, lie.bytes?.(record) ?? record);
  return job;
}

const flagsOf = (mailbox: Mailbox): string[] =>
  (["job", "in", "out", "done"] as const).flatMap((name) => [`--${name}`, mailbox[name]]);

const N = 1001;

const LIES: readonly (readonly [string, Lie, RegExp])[] = [
  ["one wrong element", { result: (c) => (c[N - 1] = 0) }, /^FAIL.*(wrong=1|exact=false)/],
  [
    "a status that is not ok",
    { done: { status: STATUS.io_error, outBytes: 0n } },
    /status=io_error/,
  ],
  ["verify_failed", { done: { status: STATUS.verify_failed, bad: 1n } }, /status=verify_failed/],
  ["another op", { done: { op: OPERATION.mail } }, /^FAIL.*status=ok/],
  ["another n", { done: { n: 1000n } }, /^FAIL.*status=ok/],
  ["another seq", { done: { seq: 6n } }, /^FAIL.*no done record/],
  ["a wrong checksum", { bytes: (record) => record.with(40, 1) }, /^FAIL.*no done record/],
  ["half a record", { bytes: (record) => record.subarray(0, 127) }, /^FAIL.*no done record/],
  ["a v1 record", { bytes: () => new Uint8Array(128).fill(0x43) }, /^FAIL.*no done record/],
];

const words = (mailbox: Mailbox): string[] => [...flagsOf(mailbox), "--n", String(N)];

for (const { name, skip, run } of PRODUCERS) {
  suite(`${name} checks its answer`, { skip }, () => {
    test("control: an answer that is right", async () => {
      const mailbox = makeMailbox();
      const waiting = run(words(mailbox));
      const job = await answerVadd(mailbox, {});
      const { code, text } = await waiting;
      assert.match(text, /^PASS seq=1 op=2 n=1001 gpu="a test"/);
      assert.equal(code, 0);
      assert.equal(job.inBytes, BigInt(8 * N));
    });

    for (const [title, lie, line] of LIES) {
      test(`${title} is found`, async () => {
        const mailbox = makeMailbox();
        const waiting = run([...words(mailbox), "--seq", "7", "--wait-ms", "300"]);
        await answerVadd(mailbox, lie);
        const { code, text } = await waiting;
        assert.match(text, line);
        assert.equal(code, 1);
      });
    }
  });

  suite(`${name} posts and ends as it should`, { skip }, () => {
    test("op 3 has to fail, and to be wrong by one", async () => {
      const mailbox = makeMailbox();
      const waiting = run([...words(mailbox), "--op", "3"]);
      await answerVadd(mailbox, {});
      assert.match((await waiting).text, /^PASS.*op=3.*status=verify_failed.*bad=1001/);
    });

    test("op 3 that is found right is a daemon that checks nothing", async () => {
      const mailbox = makeMailbox();
      const waiting = run([...words(mailbox), "--op", "3"]);
      await answerVadd(mailbox, { done: { status: STATUS.ok, bad: 0n } });
      const { code, text } = await waiting;
      assert.match(text, /^FAIL.*op=3.*status=ok/);
      assert.equal(code, 1);
    });

    test("the next seq is one above that of the done record", async () => {
      const mailbox = makeMailbox();
      const first = run([...words(mailbox), "--seq", "41"]);
      await answerVadd(mailbox, {});
      await first;
      rmSync(mailbox.job);
      const second = run(words(mailbox));
      assert.equal((await answerVadd(mailbox, {})).seq, 42n);
      assert.match((await second).text, /^PASS seq=42/);
    });

    test("no answer within --wait-ms", async () => {
      const { code, text } = await run([...words(makeMailbox()), "--wait-ms", "50"]);
      assert.match(text, /^FAIL seq=1 no done record within 50 ms/);
      assert.equal(code, 1);
    });

    test("bad usage is told from a failed check", async () => {
      const { code, text } = await run(["--n", "5"]);
      assert.match(text, /-producer: give --job/);
      assert.equal(code, 2);
      assert.equal((await run(["--nonsense"])).code, 2);
    });
  });
}

for (const { name, skip, run } of PRODUCERS) {
  test(`${name} describes a launch as the protocol wants it`, { skip }, async () => {
    const mailbox = makeMailbox();
    const waiting = run([...words(mailbox), "--launch", BASE_PTX]);
    const job = await answerVadd(mailbox, {});
    assert.match((await waiting).text, /^PASS seq=1 op=256/);
    const input = readFileSync(mailbox.in);
    const extent = { inBytes: input.length, outBytes: 4 * N };
    const { descBytes } = job;
    assert.deepEqual(decodeLaunchDescriptor(input.subarray(0, descBytes), extent), {
      ok: true,
      value: {
        moduleSha256: createHash("sha256").update(readFileSync(BASE_PTX)).digest("hex"),
        entry: "vadd",
        arguments: [
          { kind: "out", type: "f32", outOffset: 0, bytes: 4004 },
          { kind: "in", type: "f32", offset: descBytes, bytes: 4004 },
          { kind: "in", type: "f32", offset: descBytes + 4008, bytes: 4004 },
          { kind: "scalar", type: "u32", value: 1001n },
        ],
      },
    });
    assert.deepEqual(
      [job.grid, job.block],
      [
        [4, 1, 1],
        [256, 1, 1],
      ],
    );
  });
}

const GIBIBYTE = 2 ** 30;

function readAt(path: string, offset: number, elements: number): Float32Array {
  const bytes = new Uint8Array(4 * elements);
  const file = openSync(path, "r");
  assert.equal(readSync(file, bytes, 0, bytes.length, offset), bytes.length);
  closeSync(file);
  return new Float32Array(bytes.buffer);
}

suite("c-producer in guest RAM (v1)", { skip: noCompiler }, () => {
  const cases = [
    ["RAM on both sides of the hole", 2.5 * GIBIBYTE, 2 * GIBIBYTE, 0x1_0000_0000, 2 * GIBIBYTE],
    ["with 1 GiB below the hole", 2.5 * GIBIBYTE, GIBIBYTE, 0x1_0000_0000, GIBIBYTE],
    ["RAM below the hole only", 64 * 2 ** 20, 2 * GIBIBYTE, 17 * 2 ** 20, 17 * 2 ** 20],
  ] as const;
  for (const [title, ramBytes, lowBytes, address, offset] of cases) {
    for (const wrongElements of [0, 1]) {
      test(`${title}, ${String(wrongElements)} elements wrong`, async () => {
        const mailbox = makeMailbox();
        writeFileSync(mailbox.ram, "");
        truncateSync(mailbox.ram, ramBytes);
        const files = ["--job", mailbox.job, "--done", mailbox.done, "--ram", mailbox.ram];
        const low = ["--ram-low-size", String(lowBytes)];
        const waiting = C_PRODUCER.run([...files, ...low, "--n", String(N)]);
        const decoded = CUBB_JOB.decode(await awaitFile(mailbox.job));
        assert.ok(decoded.ok);
        const { seq, op, n, gpaA, gpaB, gpaC } = decoded.value;
        assert.deepEqual([seq, op, n, gpaA, gpaB], [1n, 2, N, 0x100_0000n, BigInt(address)]);
        const result = readAt(mailbox.ram, Number(gpaA), N);
        const other = readAt(mailbox.ram, offset, N);
        result.forEach((a, index) => (result[index] = a + (other[index] ?? 0)));
        if (wrongElements > 0) result[0] = 1;
        const ram = openSync(mailbox.ram, "r+");
        writeSync(ram, result, 0, result.byteLength, offset + Number(gpaC - gpaB));
        closeSync(ram);
        const rest = { bad: 0, kernelNs: 1n, checksum: 0 };
        putWhole(mailbox.done, CUBD_DONE.encode({ seq, status: STATUS.ok, ...rest }));
        const { code, text } = await waiting;
        assert.match(text, new RegExp(`seq=1 op=2 n=1001 .*status=ok.*wrong=${wrongElements} `));
        assert.equal(code, wrongElements);
      });
    }
  }
});
