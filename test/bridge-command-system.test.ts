// `holdfast bridge` as a process on the software GPU, and a producer outside of it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../src/base/mod.ts";
import { createGuestMemory, HIGH_WINDOW } from "../src/cli/self-test/guest-memory.ts";
import { CUBB2_JOB, CUBB_JOB, OPERATION, STATUS } from "../src/records/mod.ts";
import { vaddInput, vaddRecord } from "../src/cli/trial/job-record.ts";
import { createProducerV1, putWhole } from "../src/cli/trial/producer.ts";
import { BridgeProcess, filesIn, producerOver, slowJob } from "./bridge-process.ts";
import { testFolder } from "./fakes/spawn-fake.ts";
import { PROGRAM } from "./repl-process.ts";

const root = testFolder();
let folders = 0;
const newFolder = (): string => join(root, `bridge-${String(folders++)}`);

const N = 1024;
const INPUT = vaddInput(N);

/** Additions that the software GPU does in a second or so, and in far longer than any test waits. */
const A_SECOND = 1_000_000;
const ENDLESS = 2 ** 24 - 1;

const STAMP = String.raw`^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] `;

suite("holdfast bridge", () => {
  test("serves, tells, counts and leaves", async () => {
    const bridge = new BridgeProcess(newFolder());
    const { files } = bridge;
    await bridge.waitFor(/\] ready\n/);
    for (const line of [
      `serving mailbox \\(v2\\): job=${files.job} in=${files.in} out=${files.out} done=`,
      "mailbox: verify auto, timeout 60000 ms where a record names none, 600000 ms at most$",
      "last sequence numbers are kept in .*/state/bridges$",
      "die 0: soft:0 Holdfast software GPU .*, ready in ",
    ]) {
      assert.match(bridge.errors(), new RegExp(STAMP + line, "m"));
    }
    bridge.post(vaddRecord({ seq: 42n }, N), INPUT);
    const done = await bridge.producer.waitForDone(42n);
    assert.equal(done?.status, STATUS.ok);
    await bridge.waitFor(/out_bytes/);
    assert.match(
      bridge.output(),
      /^CUBB2 seq=42 op=2 n=1024 gpu="Holdfast software GPU[^"]*" kernel_ns=\d+ status=ok checksum=\d+\.\d{6} bad=0 out_bytes=4096\n$/,
    );
    assert.equal(bridge.readOut().length, 4 * N);
    bridge.child.kill("SIGUSR2");
    await bridge.waitFor(/mailbox: jobs=1 repeated=0 status\.ok=1\n/);
    bridge.child.kill("SIGTERM");
    assert.equal(await bridge.code, 0);
    assert.match(bridge.errors(), /SIGTERM: no further jobs; those that run have 5 s to end\n/);
    const [counters = "", closing = ""] = bridge.errors().trimEnd().split("\n").slice(-2);
    assert.match(counters, /mailbox: jobs=1 /);
    assert.match(closing, /bridge exiting; dies stay as they are$/);
  });

  test("--json prints each job line as an object", async () => {
    const bridge = new BridgeProcess(newFolder(), ["--json"]);
    bridge.post(vaddRecord({ seq: 2n ** 60n }, N), INPUT);
    await bridge.producer.waitForDone(2n ** 60n);
    await bridge.waitFor(/"out_bytes":4096\}\n/);
    assert.match(bridge.output(), /^\{"record":"CUBB2","seq":1152921504606846976,"op":2,"n":1024,/);
    const { status } = JSON.parse(bridge.output()) as { status: string };
    assert.equal(status, "ok");
    bridge.child.kill("SIGINT");
    assert.equal(await bridge.code, 0);
  });
});

suite("holdfast bridge, started", () => {
  test("a mailbox that is served already is refused with 2", async () => {
    const folder = newFolder();
    const first = new BridgeProcess(folder);
    await first.waitFor(/\] ready\n/);
    const second = new BridgeProcess(folder);
    assert.equal(await second.code, 2);
    assert.match(second.errors(), new RegExp(`process ${String(first.child.pid)} serves`));
    first.child.kill("SIGTERM");
    assert.equal(await first.code, 0);
  });

  test("no device is 3, before it is ready", async () => {
    const bridge = new BridgeProcess(newFolder(), ["--die", "7"]);
    assert.equal(await bridge.code, 3);
    assert.match(bridge.errors(), /die 7: not online: .*\n/);
    assert.doesNotMatch(bridge.errors(), /ready/);
  });

  test("serves a v1 mailbox over a guest's RAM", async () => {
    const folder = newFolder();
    mkdirSync(folder);
    const memory = createGuestMemory(join(folder, "ram"));
    const bridge = new BridgeProcess(folder, ["--ram", memory.path, "--ram-low-size", "2Gi"]);
    const [from, to] = [HIGH_WINDOW + 4096, 65_536];
    memory.write(from, INPUT);
    const producer = createProducerV1({ ...bridge.files, clock: systemClock, waitMsMax: 40_000 });
    const [gpaA, gpaC] = [BigInt(from), BigInt(to)];
    const job = { seq: 5n, op: OPERATION.mail, n: INPUT.length / 4, gpaA, gpaB: 0n, gpaC };
    producer.post(CUBB_JOB.encode(job));
    assert.equal((await producer.waitForDone(5n))?.status, STATUS.ok);
    assert.deepEqual(memory.read(to, INPUT.length), INPUT);
    await bridge.waitFor(/^CUBB job seq=5 op=1 n=2048 gpu="Holdfast .* status=ok .* bad=0\n/m);
    assert.match(bridge.errors(), /serving mailbox \(v1\): .* ram_low_bytes=2147483648\n/);
    bridge.child.kill("SIGTERM");
    assert.equal(await bridge.code, 0);
    memory.close();
  });

  test("faults are for the software GPU only", () => {
    const words = "bridge --job j --in i --out o --done d --fault wrong-element:1".split(" ");
    const run = spawnSync(process.execPath, [PROGRAM, ...words], { encoding: "utf8", cwd: root });
    assert.equal(run.status, 2);
    assert.match(
      run.stderr,
      /holdfast: faults are made in the software GPU only: use --backend soft/,
    );
  });

  test("serves several mailboxes from a file", async () => {
    const folder = newFolder();
    const names = ["first", "second"] as const;
    const mailboxes = names.map((name) => ({ name, files: filesIn(join(folder, name)) }));
    for (const name of names) mkdirSync(join(folder, name), { recursive: true });
    const config = join(folder, "bridges.json");
    const bridges = mailboxes.map(({ name, files }) => ({ name, ...files, verify: "full" }));
    writeFileSync(config, JSON.stringify({ bridges }));
    const bridge = new BridgeProcess(folder, ["--config", config]);
    for (const { files } of mailboxes) {
      const producer = producerOver(files);
      putWhole(files.in, INPUT);
      producer.post(CUBB2_JOB.encode(vaddRecord({ seq: 1n }, N)));
      assert.equal((await producer.waitForDone(1n))?.status, STATUS.ok);
    }
    bridge.child.kill("SIGTERM");
    assert.equal(await bridge.code, 0);
    for (const name of names) assert.match(bridge.errors(), new RegExp(`${name}: jobs=1 `));
    assert.equal(bridge.output().match(/^CUBB2 /gm)?.length, 2);
  });
});

suite("a device that is wrong", () => {
  const elements = 64 * 1024;
  const input = vaddInput(elements);

  for (const [verify, isCaught] of [
    ["full", true],
    ["sample", true],
    ["none", false],
  ] as const) {
    test(`--verify ${verify} ${isCaught ? "catches" : "does not see"} one wrong element`, async () => {
      const words = ["--once", "--fault", "wrong-element:7", "--verify", verify];
      const bridge = new BridgeProcess(newFolder(), words);
      // 64 pages: a sample of 64 of them is all of them, and misses nothing.
      bridge.post(vaddRecord({ seq: 1n }, elements), input);
      assert.equal(await bridge.code, isCaught ? 1 : 0);
      const status = isCaught ? "verify_failed" : "ok";
      const bad = isCaught ? 1 : 0;
      assert.match(bridge.output(), new RegExp(` status=${status} .* bad=${bad} `));
    });
  }

  test("and one that is not passes the same checks", async () => {
    const bridge = new BridgeProcess(newFolder(), ["--once", "--verify", "full"]);
    bridge.post(vaddRecord({ seq: 1n }, elements), input);
    assert.equal(await bridge.code, 0);
    assert.match(bridge.output(), / status=ok .* bad=0 /);
  });
});

suite("a signal to holdfast bridge", () => {
  test("a job that runs is let end, and no further one begins", async () => {
    const bridge = new BridgeProcess(newFolder());
    await bridge.waitFor(/\] ready\n/);
    bridge.post(slowJob(1n, A_SECOND), INPUT.subarray(0, 4 * N));
    await sleep(200);
    bridge.child.kill("SIGHUP");
    await bridge.waitFor(/SIGHUP: no further jobs/);
    assert.ok(!existsSync(bridge.files.done), "it still runs");
    bridge.post(slowJob(2n, 1));
    assert.equal(await bridge.code, 0);
    const done = await bridge.producer.waitForDone(1n);
    assert.equal(done?.status, STATUS.ok);
    assert.match(bridge.errors(), /jobs=1 repeated=0 status\.ok=1\n/);
  });

  test("a second signal ends it at once; its job is run by the next daemon", async () => {
    const folder = newFolder();
    const bridge = new BridgeProcess(folder);
    await bridge.waitFor(/\] ready\n/);
    bridge.post(slowJob(1n, ENDLESS), INPUT.subarray(0, 4 * N));
    await sleep(300);
    const startMs = performance.now();
    bridge.child.kill("SIGTERM");
    await bridge.waitFor(/SIGTERM: no further/);
    bridge.child.kill("SIGTERM");
    assert.equal(await bridge.code, 0);
    assert.ok(performance.now() - startMs < 4_000, "the 5 s were not waited for");
    assert.match(bridge.errors(), /SIGTERM, the second: leaving at once/);
    assert.ok(!existsSync(bridge.files.done), "a job that was cut short has no done record");
    assert.equal(bridge.output(), "");

    const next = new BridgeProcess(folder);
    next.post(slowJob(1n, 10), INPUT.subarray(0, 4 * N));
    assert.equal((await next.producer.waitForDone(1n))?.status, STATUS.ok);
    next.child.kill("SIGTERM");
    assert.equal(await next.code, 0);
  });
});

suite("holdfast bridge --once", () => {
  const valid = vaddRecord({ seq: 1n }, N);
  const spoiled = CUBB2_JOB.encode(valid).map((byte, at) => (at === 20 ? byte ^ 1 : byte));
  const cases: readonly (readonly [string, number, string, (bridge: BridgeProcess) => void])[] = [
    ["ok", 0, "status=ok", (bridge) => bridge.post(valid, INPUT)],
    ["another status", 1, "status=unknown_op", (bridge) => bridge.post({ ...valid, op: 9 }, INPUT)],
    ["no input", 1, "status=io_error", (bridge) => bridge.post(valid)],
    [
      "a wrong result",
      1,
      "status=verify_failed",
      (bridge) => {
        bridge.post({ ...valid, op: OPERATION.vadd_mutated }, INPUT);
      },
    ],
    ["a rejected record", 1, "rejected.bad_crc=1", (bridge) => bridge.producer.post(spoiled)],
    [
      "a kernel that hangs",
      4,
      "status=timeout",
      (bridge) => {
        bridge.post(slowJob(1n, ENDLESS, 200), INPUT.subarray(0, 4 * N));
      },
    ],
  ];
  for (const [name, exit, seen, post] of cases) {
    test(`exits with ${String(exit)} after ${name}`, async () => {
      const bridge = new BridgeProcess(newFolder(), ["--once"]);
      post(bridge);
      assert.equal(await bridge.code, exit, bridge.errors());
      assert.ok((bridge.output() + bridge.errors()).includes(seen), bridge.errors());
    });
  }

  test("that a signal ends before any record says so, as any command does", async () => {
    const bridge = new BridgeProcess(newFolder(), ["--once"]);
    await bridge.waitFor(/\] ready\n/);
    bridge.child.kill("SIGTERM");
    assert.equal(await bridge.code, 143);
  });
});
