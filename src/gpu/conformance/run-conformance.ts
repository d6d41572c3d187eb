/** One suite for every backend: registers its cases as tests of node:test. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Result } from "../../base/mod.ts";
import type { GpuRefusal } from "../error.ts";
import type { Gpu } from "../gpu.ts";
import type { ConformanceCase, Session } from "./bench.ts";
import { Bench, expectOk } from "./bench.ts";
import { CATALOGUE_CASES } from "./catalogue-cases.ts";
import { DEVICE_CASES } from "./device-cases.ts";
import { FAULT_CASES } from "./fault-cases.ts";
import { LAUNCH_CASES } from "./launch-cases.ts";
import { MEMORY_CASES } from "./memory-cases.ts";
import { MODULE_CASES } from "./module-cases.ts";
import { STREAM_CASES } from "./stream-cases.ts";

const SOUND_CASES: readonly ConformanceCase[] = [
  ...DEVICE_CASES,
  ...MEMORY_CASES,
  ...STREAM_CASES,
  ...MODULE_CASES,
  ...LAUNCH_CASES,
  ...CATALOGUE_CASES,
];

/** A case that a backend cannot pass, and why. */
export type ConformanceSkip = { readonly test: string; readonly reason: string };

/**
 * Where faulting kernels run: in this process, where a fault costs a context only, or each in a
 * child process (see `childFaults`).
 */
export type Faults = "in-process" | ChildFaults;

export type ChildFaults = {
  /** In a child: the one case to run, and nothing else. */
  readonly only: string | null;
  /** In the parent: runs a case in a child; the output is for the failure's message. */
  readonly runChild: (name: string) => { readonly isPassed: boolean; readonly output: string };
};

export type ConformanceOptions = {
  /** The backend's name, which opens every test's name. */
  readonly name: string;
  readonly openGpu: () => Result<Gpu, GpuRefusal> | Promise<Result<Gpu, GpuRefusal>>;
  /** The text of `kernels/base.ptx`. */
  readonly kernelsPtx: string;
  readonly skip?: readonly ConformanceSkip[];
  readonly faults: Faults;
};

/** How long a child may take: a driver's start and one small launch, on a busy machine. */
const CHILD_TIMEOUT_MS = 120_000;

const ONLY_VARIABLE = "HOLDFAST_CONFORMANCE_ONLY";

/**
 * Runs each faulting case by starting the test script (`import.meta.url`) once more. `environment`
 * is this process's, which tells a child from its parent.
 */
export function childFaults(
  scriptUrl: string,
  environment: Readonly<Record<string, string | undefined>>,
): ChildFaults {
  return {
    only: environment[ONLY_VARIABLE] ?? null,
    runChild: (name) => {
      // A child that believes to be a test runner's file would report in the runner's own format.
      const child = spawnSync(process.execPath, [fileURLToPath(scriptUrl)], {
        encoding: "utf8",
        env: { ...environment, NODE_TEST_CONTEXT: undefined, [ONLY_VARIABLE]: name },
        timeout: CHILD_TIMEOUT_MS,
      });
      // A child that skipped, or ran no test at all, ends with 0 as well: ask for the case's own
      // line.
      const line = child.stdout.split("\n").find((text) => isLineOf(text, name));
      const isPassed = child.status === 0 && line !== undefined && !line.includes("# SKIP");
      return { isPassed, output: `${child.stdout}\n${child.stderr}` };
    },
  };
}

/**
 * Registers the whole suite. Call it at the top of a test file; a skip that names no case of the
 * suite is a failed test, so that skips cannot outlive what they were for.
 *
 * @example
 * runConformance({ name: "soft", openGpu, kernelsPtx, faults: "in-process" });
 */
export function runConformance(options: ConformanceOptions): void {
  const { faults } = options;
  const session = sharedSession(options);
  if (faults !== "in-process" && faults.only !== null) {
    const only = FAULT_CASES.filter((fault) => fault.name === faults.only);
    for (const fault of only) registerCase(options, fault, session);
    return;
  }
  for (const sound of SOUND_CASES) registerCase(options, sound, session);
  for (const fault of FAULT_CASES) {
    if (faults === "in-process") registerCase(options, fault, session);
    else registerChild(options, fault, faults);
  }
  const names = new Set([...SOUND_CASES, ...FAULT_CASES].map((each) => each.name));
  test(`${options.name}: every skip names a case of the suite`, () => {
    const unknown = (options.skip ?? []).filter((skip) => !names.has(skip.test));
    assert.deepEqual(unknown, []);
    assert.equal(names.size, SOUND_CASES.length + FAULT_CASES.length, "names are unique");
  });
}

/** Whether a reporter's line says that the test of that name passed (or was skipped). */
const isLineOf = (line: string, name: string): boolean =>
  /^(?:ok|✔) /.test(line) && line.includes(name);

/** Opens the backend and one context once, before the first test, and closes it after the last. */
function sharedSession(options: ConformanceOptions): () => Session {
  let session: Session | null = null;
  before(async () => {
    const gpu = expectOk(await options.openGpu());
    const context = expectOk(gpu.openContext(0));
    session = { gpu, context, kernelsPtx: options.kernelsPtx };
  });
  after(() => {
    session?.context.close();
  });
  return () => {
    assert.ok(session !== null, "the backend did not open");
    return session;
  };
}

function skipOf(options: ConformanceOptions, name: string): string | false {
  return options.skip?.find((skip) => skip.test === name)?.reason ?? false;
}

function registerCase(
  options: ConformanceOptions,
  { name, run }: ConformanceCase,
  session: () => Session,
): void {
  test(`${options.name}: ${name}`, { skip: skipOf(options, name) }, async () => {
    const bench = new Bench(session());
    try {
      await run(bench);
    } finally {
      bench.release();
    }
  });
}

function registerChild(
  options: ConformanceOptions,
  { name }: ConformanceCase,
  faults: ChildFaults,
): void {
  test(`${options.name}: ${name}`, { skip: skipOf(options, name) }, () => {
    const { isPassed, output } = faults.runChild(name);
    assert.ok(isPassed, output);
  });
}
