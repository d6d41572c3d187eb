// The other commands as processes, over an owner in memory: what they print, and how they exit.
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { JobStatus } from "../src/owner/mod.ts";
import { runFake, startFake, testFolder, type Finished } from "./fakes/spawn-fake.ts";

const folder = testFolder();
writeFileSync(join(folder, "k.ptx"), "// a kernel\n");
writeFileSync(join(folder, "in.bin"), "12345678");
const cli = (words: string, options: object = {}): Finished =>
  runFake(words.split(" ").filter(Boolean), { folder, options });
const SHAPE = "--kernel k --grid 1 --block 32";
const RUN = `run k.ptx ${SHAPE}`;

suite("help", () => {
  test("of everything and of each command goes to stdout and exits with 0", () => {
    for (const words of [
      "--help",
      "-h",
      "",
      "demo --help",
      "owner --help",
      "run --help",
      "bridge --help",
      "self-test --help",
      "mutation-test --help",
      "bench --help",
      "evidence --help",
      "devices -h",
    ]) {
      const { code, output, errors } = cli(words);
      assert.deepEqual([code, errors], [0, ""], words);
      assert.match(output, /^USAGE\n/);
      assert.ok(!output.includes("\x1b"), "no colour in a pipe");
    }
  });

  test("run --help shows every form of an argument", () => {
    const { output } = cli("run --help");
    for (const form of ["in:@FILE", "out:TYPE[COUNT]", "inout:@FILE@FILE2", "ramp:SCALE,MODULUS"]) {
      assert.ok(output.includes(form), form);
    }
  });

  test("--version prints the package's", () => {
    assert.match(cli("--version").output, /^\d+\.\d+\.\d+\n$/);
  });
});

const BAD_USAGE: readonly [words: string, error: RegExp][] = [
  ["frob", /unknown command 'frob'/],
  ["devicse", /did you mean devices\?/],
  ["toString", /unknown command 'toString'/],
  ["__proto__", /unknown command '__proto__'/],
  ["devices extra", /surplus argument 'extra'/],
  ["devices --frob", /unknown flag --frob/],
  ["devices --backend rocm", /--backend: 'rocm' is none of auto, cuda, soft/],
  ["devices --slot pci", /--slot: 'pci' is none of direct, bar_swap, sim/],
  ["devices --dies 0", /--dies: '0' is no whole number from 1 to 32/],
  ["devices --dies 33", /from 1 to 32/],
  ["devices --dies 2x", /from 1 to 32/],
  ["devices --timeout-ms 0", /--timeout-ms: '0'/],
  ["devices --timeout-ms", /--timeout-ms is missing or has no value/],
  [`run ${SHAPE}`, /FILE\.ptx is missing/],
  ["run k.ptx --grid 1 --block 1", /--kernel is missing/],
  ["run k.ptx --kernel k --grid 0 --block 1", /--grid: '0' is too small/],
  ["run k.ptx --kernel k --grid 1,1,1,1 --block 1", /--grid: .* more than three sizes/],
  ["run k.ptx --kernel k --grid 1 --block 1,x", /--block: 'x' is no size/],
  [`${RUN} --shared -1`, /--shared: '-1' is no size/],
  [`${RUN} --die 32`, /--die: '32' is no whole number from 0 to 31/],
  [`${RUN} --arg u32:x`, /argument 1 'u32:x': 'x' is no whole number/],
  [`${RUN} --arg u32:1 --arg f32:x`, /argument 2 'f32:x'/],
  [`${RUN} --arg in:@missing`, /argument 1: cannot read .*missing/],
  [`${RUN} --arg out:0`, /too small/],
  [`${RUN} --arg out:4@no/such`, /argument 1: cannot write/],
  [`run missing.ptx ${SHAPE}`, /cannot read .*missing\.ptx/],
  [`run . ${SHAPE}`, /is no regular file/],
];

suite("bad usage is one line and 2:", () => {
  for (const [words, error] of BAD_USAGE) {
    test(words, () => {
      const { code, output, errors } = cli(words);
      assert.deepEqual([code, output], [2, ""]);
      assert.match(errors, error);
      assert.match(errors, /^holdfast: [^\n]+\n$/);
    });
  }
});

suite("devices", () => {
  test("prints a table, and the choice of backend to stderr", () => {
    const { code, output, errors } = cli("devices");
    assert.equal(code, 0);
    assert.equal(
      output,
      [
        "die  address  in slot  device",
        ...["0    fake:0   -        Fake die", "1    fake:1   -        Fake die", ""],
      ].join("\n"),
    );
    assert.equal(errors, "holdfast: backend soft, since this is a fake\n");
  });

  test("--verbose shows the steps, stamped", () => {
    assert.match(cli("devices --verbose").errors, /^\[\d{4}-.*\] a bring-up step$/m);
  });

  test("--json prints one object", () => {
    const { output } = cli("devices --json");
    const value = JSON.parse(output) as { dies: unknown[]; slot: string };
    assert.equal(value.dies.length, 2);
    assert.equal(value.slot, "sim");
  });

  test("no device is 3", () => {
    const refuse = { code: "no_device", message: "no GPU; use --backend soft" };
    assert.deepEqual(cli("devices", { refuse }), {
      code: 3,
      output: "",
      errors: "holdfast: no GPU; use --backend soft\n",
    });
  });
});

suite("run", () => {
  test("prints device, times, bytes and a preview, and leaves no scratch folder", () => {
    const { code, output } = cli(`${RUN} --arg out:f32[4] --arg u32:4 --arg out:2Ki`);
    assert.equal(code, 0);
    assert.equal(
      output,
      [
        "device  Fake die (die 0)",
        "kernel  k, grid 1,1,1 block 32,1,1, shared 0 B",
        "time    kernel 41.9 us, in all 1.00 ms",
        "moved   8.00 MiB in, 4.00 MiB out, 12.6 GB/s",
        "arg 1   f32[4] = 0 0 0 0",
        "arg 3   bytes[2048] = 00 00 00 00 00 00 00 00 …",
        "",
      ].join("\n"),
    );
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("holdfast-")),
      [],
    );
  });

  test("--json prints the result with the outputs' first values", () => {
    const { output } = cli(`${RUN} --arg out:u32[2] --json`);
    assert.deepEqual(JSON.parse(output), {
      status: "ok",
      device: "Fake die",
      die: 0,
      kernel: "k",
      measures: { kernelNs: 41919, wallNs: 1000000, bytesIn: 8388608, bytesOut: 4194304 },
      grid: [1, 1, 1],
      block: [32, 1, 1],
      sharedBytes: 0,
      outputs: [{ argument: 1, type: "u32", bytes: 8, first: ["0", "0"] }],
    });
  });

  const exits: readonly [JobStatus, string, number][] = [
    ["refused", "argument_count", 2],
    ["io_error", "ENOSPC", 2],
    ["device_error", "CUDA_ERROR_ILLEGAL_ADDRESS", 4],
    ["timeout", "timeout", 4],
    ["lost", "die_host_died", 4],
    ["refused", "no_device", 3],
    ["refused", "no_such_die", 3],
    ["refused", "bring_up_failed", 4],
  ];
  for (const [status, name, exit] of exits) {
    test(`${status} by ${name} exits with ${String(exit)}`, () => {
      const cause = { name, code: 1, call: "someCall", message: "what and how to mend it" };
      const plain = cli(RUN, { result: { status, cause } });
      assert.deepEqual([plain.code, plain.output], [exit, ""]);
      const line = `holdfast: k: ${status}: someCall: ${name}: what and how to mend it\n`;
      const hint = exit > 2 ? "holdfast: --verbose shows the steps up to this\n" : "";
      assert.ok(plain.errors.endsWith(line + hint), plain.errors);
      const json = cli(`${RUN} --json`, { result: { status, cause } });
      assert.equal(json.code, exit);
      const value = JSON.parse(json.output) as { status: string; cause: object };
      assert.deepEqual([value.status, value.cause], [status, cause]);
    });
  }
});

suite("demo", () => {
  test("passes on one screen", () => {
    const { code, output } = cli("demo", { kernels: "right" });
    assert.equal(code, 0, output);
    const lines = output.trimEnd().split("\n");
    assert.equal(lines.at(-1), "PASS");
    assert.ok(lines.length <= 24 && lines.every((line) => line.length <= 100));
    assert.match(output, /^read 0 .*PASS$/m);
    assert.match(output, /^run vadd .*checksum 392344090\.500000 +PASS$/m);
    assert.match(output, /^run vadd_mutated .*1048576 of 1048576 .*PASS$/m);
    assert.match(
      output,
      /^bridge vadd +CUBB2 seq=1 op=2 .*status=ok checksum=392344090\.500000 .*PASS$/m,
    );
  });

  test("fails with 1 where the bridge's output is wrong, whatever its record says", () => {
    const { code, output } = cli("demo", { kernels: "off" });
    assert.equal(code, 1);
    assert.match(output, /^bridge vadd .*status=ok .*FAIL$/m);
  });

  test("fails with 1 where a read is wrong", () => {
    const { code, output } = cli("demo", { kernels: "right", isWrong: true });
    assert.equal(code, 1);
    assert.match(output, /^read 0 .*FAIL$/m);
    assert.equal(output.trimEnd().split("\n").at(-1), "FAIL");
  });

  test("fails with 1 where the mutation is not seen", () => {
    const { code, output } = cli("demo", { kernels: "blind" });
    assert.equal(code, 1);
    assert.match(output, /^run vadd_mutated .* 0 of 1048576 .*FAIL$/m);
  });

  test("a device that fails is 4, and says where", () => {
    const cause = { name: "CUDA_ERROR_X", code: 1, call: "cuX", message: "it burns" };
    const { code, output, errors } = cli("demo", { result: { status: "device_error", cause } });
    assert.equal(code, 4);
    assert.match(output, /^run vadd +could not be done +FAIL$/m);
    assert.match(errors, /holdfast: run vadd: cuX: it burns$/m);
  });

  test("--json says the same", () => {
    const { output } = cli("demo --json", { kernels: "right" });
    const value = JSON.parse(output) as { pass: boolean; steps: object[]; failure: null };
    assert.deepEqual([value.pass, value.failure], [true, null]);
    assert.ok(value.steps.length >= 11);
  });
});

suite("a signal", () => {
  for (const [signal, exit] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    test(`${signal} ends a command with ${String(exit)}, and its scratch folder`, async () => {
      const options = { delayMs: 30_000 };
      const { child, waitFor, code } = startFake(["demo", "--verbose"], { folder, options });
      await waitFor(/a bring-up step/);
      await sleep(50);
      child.kill(signal);
      assert.equal(await code, exit);
      assert.deepEqual(
        readdirSync(folder).filter((name) => name.startsWith("holdfast-")),
        [],
      );
    });
  }
});
