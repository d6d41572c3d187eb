#!/usr/bin/env node
// A producer of the bridge's protocol in one file of JavaScript: posts one v2 job, waits for its done
// record, checks the record and every element of the result. See README.md.
import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  CBD2_DONE,
  CUBB2_JOB,
  encodeLaunchDescriptor,
  launchDescriptorBytes,
  OPERATION,
  operationName,
  STATUS,
  statusName,
} from "../../dist/src/records/mod.js";

const POLL_MS = 1;
const BLOCK_THREADS = 256;

const HELP = `usage: producer.js --job FILE --in FILE --out FILE --done FILE [flags]
Posts one v2 job, waits for its done record, checks the record and every element.
  --op NAME        mail, vadd (default), vadd_mutated or slow_add
  --launch PTX     op 256 with the kernel --entry NAME (vadd) of this file
  --n N            elements (1048576)
  --iters N        slow_add: additions (0)
  --seq N          sequence number (one above that of the done record)
  --timeout-ms N   longest time of the kernel (0: the daemon's default)
  --wait-ms N      longest wait for the answer (60000)
Exit: 0 all was right, 1 a check failed, 2 bad usage or a file's trouble.
`;

const FLAGS = {
  help: { type: "boolean", default: false },
  job: { type: "string" },
  in: { type: "string" },
  out: { type: "string" },
  done: { type: "string" },
  seq: { type: "string" },
  op: { type: "string", default: "vadd" },
  n: { type: "string", default: String(2 ** 20) },
  iters: { type: "string", default: "0" },
  "timeout-ms": { type: "string", default: "0" },
  launch: { type: "string" },
  entry: { type: "string", default: "vadd" },
  "wait-ms": { type: "string", default: "60000" },
};

/** The self-test's pattern, or arbitrary words for mail, and the result that it must give. */
function makeWork(op, n, iters) {
  const a = Float32Array.from({ length: n }, (_, index) => 0.5 * (index % 1000));
  const b = Float32Array.from({ length: n }, (_, index) => 0.25 * (index % 997));
  const words = Uint32Array.from({ length: n }, (_, index) => Math.imul(index, 0x9e3779b1));
  switch (op) {
    case "mail":
      return { operands: [words], expected: words };
    case "slow_add":
      return { operands: [a], expected: a.map((value) => value + iters) };
    case "vadd_mutated":
      return { operands: [a, b], expected: a.map((value, index) => value + b[index] + 1) };
    case "vadd":
    case "launch":
      return { operands: [a, b], expected: a.map((value, index) => value + b[index]) };
    default:
      throw new Error(`--op ${op} is none of ${Object.keys(OPERATION).join(" ")}`);
  }
}

const bytesOf = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);

/** The descriptor of `entry(float *out, const float *a, const float *b, u32 n)`, and `a` and `b`. */
function makeLaunch(flags, operands, n) {
  const bytes = 4 * n;
  const slot = Math.ceil(bytes / 8) * 8;
  const offset = launchDescriptorBytes(4, flags.entry);
  const descriptor = encodeLaunchDescriptor({
    moduleSha256: createHash("sha256").update(readFileSync(flags.launch)).digest("hex"),
    entry: flags.entry,
    arguments: [
      { kind: "out", type: "f32", outOffset: 0, bytes },
      { kind: "in", type: "f32", offset, bytes },
      { kind: "in", type: "f32", offset: offset + slot, bytes },
      { kind: "scalar", type: "u32", value: BigInt(n) },
    ],
  });
  const padding = Buffer.alloc(slot - bytes);
  const [a, b] = operands.map(bytesOf);
  const shape = { grid: [Math.ceil(n / BLOCK_THREADS), 1, 1], block: [BLOCK_THREADS, 1, 1] };
  return { input: Buffer.concat([descriptor, a, padding, b]), descBytes: offset, ...shape };
}

/** By rename, so that nobody reads half of it. For plain files; a device takes one write instead. */
function putWhole(path, bytes) {
  writeFileSync(`${path}.${process.pid}`, bytes);
  renameSync(`${path}.${process.pid}`, path);
}

/** The done record that is there, or null; one that is damaged is none. */
function readDone(path) {
  try {
    const decoded = CBD2_DONE.decode(readFileSync(path));
    return decoded.ok ? decoded.value : null;
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

async function awaitDone(path, seq, waitMs) {
  const begin = performance.now();
  while (performance.now() - begin < waitMs) {
    const done = readDone(path);
    if (done?.seq === seq) return { ...done, waitMs: performance.now() - begin };
    await sleep(POLL_MS);
  }
  return null;
}

/** Posts the job; the line that says what came of it, and whether all was right. */
async function run(flags) {
  const missing = ["job", "in", "out", "done"].filter((name) => flags[name] === undefined);
  if (missing.length > 0) throw new Error(`give --${missing.join(" --")}`);
  const op = flags.launch === undefined ? (operationName(Number(flags.op)) ?? flags.op) : "launch";
  const [n, iters] = [Number(flags.n), Number(flags.iters)];
  const seq = BigInt(flags.seq ?? (readDone(flags.done)?.seq ?? 0n) + 1n);
  const { operands, expected } = makeWork(op, n, iters);
  const { input, ...shape } =
    op === "launch"
      ? makeLaunch(flags, operands, n)
      : { input: Buffer.concat(operands.map(bytesOf)), grid: [0, 0, 0], block: [0, 0, 0] };

  putWhole(flags.in, input);
  const job = {
    flags: 0,
    seq,
    op: OPERATION[op],
    timeoutMs: Number(flags["timeout-ms"]),
    n: BigInt(n),
    inBytes: BigInt(input.length),
    outBytes: BigInt(expected.byteLength),
    sharedBytes: 0,
    descBytes: 0,
    guestId: 0n,
    iters,
    ...shape,
  };
  putWhole(flags.job, CUBB2_JOB.encode(job));

  const done = await awaitDone(flags.done, seq, Number(flags["wait-ms"]));
  if (done === null) return [false, `seq=${seq} no done record within ${flags["wait-ms"]} ms`];
  const wanted = op === "vadd_mutated" ? STATUS.verify_failed : STATUS.ok;
  const hasResult = done.status === STATUS.ok || done.status === STATUS.verify_failed;
  const isExact = hasResult && readFileSync(flags.out).equals(bytesOf(expected));
  const isEcho = done.op === job.op && done.n === job.n;
  const isRight = done.status === wanted && isEcho && isExact;
  const line =
    `seq=${seq} op=${job.op} n=${n} gpu="${done.device}" kernel_ns=${done.kernelNs} ` +
    `status=${statusName(done.status)} checksum=${done.checksum.toFixed(6)} bad=${done.bad} ` +
    `checked=${done.checked} exact=${isExact} wait_ms=${done.waitMs.toFixed(1)}`;
  return [isRight, line];
}

try {
  const flags = parseArgs({ options: FLAGS }).values;
  if (flags.help) {
    process.stdout.write(HELP);
  } else {
    const [isRight, line] = await run(flags);
    console.log(`${isRight ? "PASS" : "FAIL"} ${line}`);
    process.exitCode = isRight ? 0 : 1;
  }
} catch (error) {
  console.error(`node-producer: ${error.message}`);
  process.exitCode = 2;
}
