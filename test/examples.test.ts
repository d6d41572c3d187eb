// Outside producers against a running daemon, on the software GPU: the two of examples/, and the
// very bytes that docs/PROTOCOL.md shows. They share nothing with the daemon but the document.
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync, type ChildProcess } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CBD2_DONE, JOB_FLAG, OPERATION, STATUS, type Cbd2Done } from "../src/records/mod.ts";
import { hexExample, ptxExample } from "./protocol-examples.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const HOLDFAST = join(ROOT, "bin", "holdfast.js");
const BASE_PTX = join(ROOT, "kernels", "base.ptx");
const C_SOURCE = join(ROOT, "examples", "c-producer");
const NODE_PRODUCER = join(ROOT, "examples", "node-producer", "producer.js");

/** A daemon that has just been started makes its device first. */
const ANSWER_MS_MAX = 60_000;

const noCompiler =
  spawnSync("cc", ["--version"], { stdio: "ignore" }).status === 0
    ? false
    : "there is no cc on this machine";

const root = mkdtempSync(join(tmpdir(), "holdfast-examples-"));
const cProducer = join(root, "c-producer");
after(() => rmSync(root, { recursive: true, force: true }));

before(() => {
  if (noCompiler !== false) return;
  const sources = ["files", "producer", "sha256", "v1", "v2", "work"];
  const paths = sources.map((name) => join(C_SOURCE, `${name}.c`));
  const words = ["-std=c11", "-O2", "-I", join(ROOT, "include"), "-o", cProducer, ...paths];
  assert.equal(spawnSync("cc", words, { stdio: "inherit" }).status, 0);
});

type Ended = { readonly code: number; readonly text: string };

const run = (program: string, words: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(program, words, { timeout: ANSWER_MS_MAX }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, text: stdout + stderr });
    });
  });

/** A daemon of its own folder; what it prints is kept for the tests, and for whoever reads why. */
class Daemon {
  readonly #process: ChildProcess;
  #stdout = "";
  #stderr = "";

  constructor(folder: string, flags: readonly string[]) {
    const own = ["--backend", "soft", "--dies", "1", "--state-dir", join(folder, "state")];
    this.#process = spawn(process.execPath, [HOLDFAST, "bridge", ...flags, ...own]);
    this.#process.stdout?.on("data", (chunk: Buffer) => (this.#stdout += chunk.toString()));
    this.#process.stderr?.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
  }

  /** Waits for the job line of that seq. */
  async lineOf(seq: number): Promise<string> {
    for (let waitedMs = 0; waitedMs < 5000; waitedMs += 10) {
      const lines = this.#stdout.split("\n").slice(0, -1);
      const found = lines.find((line) => line.includes(` seq=${String(seq)} `));
      if (found !== undefined) return found;
      await sleep(10);
    }
    throw new Error(`no job line of seq ${String(seq)} in: ${this.#stdout}${this.#stderr}`);
  }

  log(): string {
    return this.#stderr;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill("SIGTERM");
    await ended;
  }
}

function putWhole(path: string, bytes: Uint8Array): void {
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}

/** The self-test's operands, one array behind the other. */
function vaddOperands(n: number): Uint8Array {
  const operands = Float32Array.from({ length: 2 * n }, (_, index) =>
    index < n ? 0.5 * (index % 1000) : 0.25 * ((index - n) % 997),
  );
  return new Uint8Array(operands.buffer);
}

const V2 = join(root, "v2");
const MODULES = join(V2, "modules");
const FILES = {
  job: join(V2, "job"),
  in: join(V2, "in"),
  out: join(V2, "out"),
  done: join(V2, "done"),
};
const V2_WORDS = Object.entries(FILES).flatMap(([name, path]) => [`--${name}`, path]);

let daemon: Daemon;

before(() => {
  mkdirSync(MODULES, { recursive: true });
  copyFileSync(BASE_PTX, join(MODULES, "base.ptx"));
  writeFileSync(join(MODULES, "scale.ptx"), ptxExample("scale"));
  daemon = new Daemon(V2, [...V2_WORDS, "--modules", MODULES]);
});
after(() => daemon.stop());

function readDone(): Cbd2Done | null {
  if (!existsSync(FILES.done)) return null;
  const decoded = CBD2_DONE.decode(readFileSync(FILES.done));
  return decoded.ok ? decoded.value : null;
}

/** Posts what the document shows, and waits for its done record. */
async function postExample(input: Uint8Array, title: string, seq: bigint): Promise<Cbd2Done> {
  putWhole(FILES.in, input);
  putWhole(FILES.job, hexExample(title));
  for (let waitedMs = 0; waitedMs < ANSWER_MS_MAX; waitedMs += 10) {
    const done = readDone();
    if (done?.seq === seq) return done;
    await sleep(10);
  }
  throw new Error(`no done record of seq ${String(seq)}; the daemon's log: ${daemon.log()}`);
}

suite("the document's own bytes", () => {
  test("its vadd gives its done record, but for times and device", async () => {
    const done = await postExample(vaddOperands(2 ** 20), "CUBB2_JOB vadd", 42n);
    const shown = CBD2_DONE.decode(hexExample("CBD2_DONE vadd"));
    assert.ok(shown.ok);
    const { kernelNs, wallNs, device } = shown.value;
    assert.deepEqual({ ...done, kernelNs, wallNs, device }, shown.value);
    assert.match(
      await daemon.lineOf(42),
      new RegExp(
        '^CUBB2 seq=42 op=2 n=1048576 gpu="[^"]+" kernel_ns=\\d+ status=ok ' +
          "checksum=392344090\\.500000 bad=0 out_bytes=4194304$",
      ),
    );
  });

  test("its launch gives its result", async () => {
    const done = await postExample(hexExample("IN launch"), "CUBB2_JOB launch", 44n);
    assert.equal(done.status, STATUS.ok, daemon.log());
    assert.deepEqual(Uint8Array.from(readFileSync(FILES.out)), hexExample("OUT launch"));
    const { op, n, outBytes, checksum, bad, checked, flags } = done;
    assert.deepEqual([op, n, outBytes, checksum], [OPERATION.launch, 4n, 16n, 15]);
    assert.deepEqual([bad, checked, flags], [0n, 0n, JOB_FLAG.verify_none]);
  });
});

type Producer = {
  readonly name: string;
  readonly skip: string | false;
  readonly post: (flags: readonly string[]) => Promise<Ended>;
};

const PRODUCERS: readonly Producer[] = [
  {
    name: "c-producer",
    skip: noCompiler,
    post: (flags) => run(cProducer, [...V2_WORDS, ...flags]),
  },
  {
    name: "node-producer",
    skip: false,
    post: (flags) => run(process.execPath, [NODE_PRODUCER, ...V2_WORDS, ...flags]),
  },
];

const V2_JOBS = [
  ["vadd", [], /^PASS.* op=2 n=1048576 .*checksum=392344090\.500000 bad=0 checked=1048576/],
  ["mail", ["--op", "1", "--n", "257"], /^PASS.* op=1 n=257 .*status=ok.* checked=257/],
  ["op 3", ["--op", "3"], /^PASS.*=verify_failed.* checksum=393392666\.500000 bad=1048576/],
  ["slow_add", ["--op", "4", "--iters", "1000", "--n", "1000"], /^PASS.* op=4 .*status=ok/],
  ["launch", ["--launch", BASE_PTX, "--n", "1001"], /^PASS.* op=256 n=1001 .*status=ok/],
  ["launch, no such entry", ["--launch", BASE_PTX, "--entry", "no"], /^FAIL.*=unknown_kernel/],
  ["launch, no such module", ["--launch", HOLDFAST], /^FAIL.*status=unknown_kernel/],
] as const;

for (const { name, skip, post } of PRODUCERS) {
  suite(name, { skip }, () => {
    for (const [title, flags, line] of V2_JOBS) {
      test(title, async () => {
        const { code, text } = await post(flags);
        assert.match(text, line, daemon.log());
        assert.equal(code, text.startsWith("PASS") ? 0 : 1);
      });
    }

    test("a seq that is posted again is answered again, and a lower one never", async () => {
      const n = ["--n", "64"];
      const first = await post(n);
      const seq = Number(/seq=(\d+)/.exec(first.text)?.[1]);
      rmSync(FILES.done);
      const again = await post([...n, "--seq", String(seq)]);
      assert.match(again.text, new RegExp(`^PASS seq=${seq} `), daemon.log());
      const stale = await post([...n, "--seq", "3", "--wait-ms", "300"]);
      assert.match(stale.text, /^FAIL seq=3 no done record/);
      const next = await post(n);
      assert.match(next.text, new RegExp(`^PASS seq=${seq + 1} `), daemon.log());
    });
  });
}

suite("c-producer in guest RAM (v1)", { skip: noCompiler }, () => {
  const folder = join(root, "v1");
  const [ram, job, done] = [join(folder, "ram"), join(folder, "job"), join(folder, "done")];
  const words = ["--job", job, "--done", done, "--ram", ram];
  let ramDaemon: Daemon;

  before(() => {
    mkdirSync(folder);
    writeFileSync(ram, "");
    truncateSync(ram, 2.5 * 2 ** 30);
    ramDaemon = new Daemon(folder, words);
  });
  after(() => ramDaemon.stop());

  const jobs = [
    ["vadd", [], /^PASS seq=1 op=2 n=1048576 .*status=ok.* checksum=392344090\.500000 bad=0/],
    ["mail", ["--op", "1", "--n", "257"], /^PASS seq=2 op=1 n=257 .*status=ok/],
    ["op 3", ["--op", "3", "--n", "1000"], /^PASS seq=3 .*status=verify_failed.* bad=1000/],
    ["op 4, which v1 has not", ["--op", "4", "--n", "16"], /^FAIL seq=4 .*status=unknown_op/],
  ] as const;
  for (const [title, flags, line] of jobs) {
    test(`${title}, in low memory and above 4 GiB`, async () => {
      const { text } = await run(cProducer, [...words, ...flags]);
      assert.match(text, line, ramDaemon.log());
    });
  }

  test("the job line", async () => {
    assert.match(
      await ramDaemon.lineOf(1),
      new RegExp(
        '^CUBB job seq=1 op=2 n=1048576 gpu="[^"]+" kernel_ns=\\d+ status=ok ' +
          "checksum=392344090\\.500000 bad=0$",
      ),
    );
  });
});
