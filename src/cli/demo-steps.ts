/** What the demo does, one step a function; each says what was seen, and whether it is right. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../base/mod.ts";
import {
  catalogueKernel,
  checksumF64,
  compareF32,
  launchShape,
  referenceVadd,
  selfTestA,
  selfTestB,
  type CatalogueName,
} from "../gpu/mod.ts";
import {
  WORK_ELEMENTS,
  type Job,
  type JobArgument,
  type OwnerRefusal,
  type ReadReport,
} from "../owner/mod.ts";
import { bridgeVadd } from "./demo-bridge.ts";
import type { DemoFailure, DemoStage, DemoStep } from "./demo-step.ts";
import { VADD_CHECKSUM } from "./self-test/self-test-v2.ts";
import { durationText } from "./units.ts";

/** Two dies: the fewest between which a window can be moved. */
const DIES = [0, 1] as const;

/** Different work for each die, so that neither's answer can pass for the other's. */
const WORK = [
  { seed: 0x2a, iters: 1000 },
  { seed: 0x07, iters: 500 },
] as const;

const online = (die: number): DemoStep => {
  const step = `online ${die}`;
  return async ({ owner }) => {
    const report = await owner.online(die);
    if (!report.ok) return failed(step, report.error);
    const { address, deviceName, elapsedMs } = report.value;
    const seen = `${address} ${deviceName}, ready in ${durationText(elapsedMs * 1e6)}`;
    return ok({ step, seen, pass: null });
  };
};

const work = (die: 0 | 1): DemoStep => {
  const { seed, iters } = WORK[die];
  const step = `work ${die} ${seed} ${iters}`;
  return async ({ owner }) => {
    const report = await owner.work(die, seed, iters);
    if (!report.ok) return failed(step, report.error);
    const seen = `launched on ${report.value.gridBlocks} blocks, not waited for`;
    return ok({ step, seen, pass: null });
  };
};

const swap = (die: 0 | 1): DemoStep => {
  const step = `swap ${die}`;
  const other = DIES[1 - die] ?? 0;
  return async ({ owner }) => {
    const report = await owner.swap(die);
    if (!report.ok) return failed(step, report.error);
    const { moved, elapsedMs } = report.value;
    const elapsed = durationText(elapsedMs * 1e6);
    const seen = moved
      ? `moved once die ${other} was idle, after ${elapsed}; its result stays there`
      : "the die is mapped already";
    return ok({ step, seen, pass: null });
  };
};

const read = (die: number): DemoStep => {
  const step = `read ${die}`;
  return async ({ owner }) => {
    const report = await owner.read(die);
    if (!report.ok) return failed(step, report.error);
    return ok({ step, seen: readSeen(report.value), pass: report.value.pass });
  };
};

function readSeen({ checked, bad, iters, firstSample }: ReadReport): string {
  return `out[0]=${firstSample.toFixed(1)} = in+${iters}; ${checked} checked, ${bad} wrong`;
}

const vadd: DemoStep = async (stage) => {
  const step = "run vadd";
  const output = await runKernel(stage, "vadd");
  if (!output.ok) return err({ step, ...output.error });
  const { bad } = compareF32(expectedSums(), output.value);
  const checksum = checksumF64(output.value);
  const seen = `c = a + b, ${WORK_ELEMENTS} checked, ${bad} wrong; checksum ${checksum.toFixed(6)}`;
  return ok({ step, seen, pass: bad === 0 && checksum === VADD_CHECKSUM });
};

/** A check that cannot fail proves nothing: this kernel is wrong on purpose, and must be seen. */
const mutated: DemoStep = async (stage) => {
  const step = "run vadd_mutated";
  const output = await runKernel(stage, "vadd_mutated");
  if (!output.ok) return err({ step, ...output.error });
  const { bad } = compareF32(expectedSums(), output.value);
  const seen = `wrong on purpose: ${bad} of ${WORK_ELEMENTS} elements seen to differ`;
  const isShifted = checksumF64(output.value) === VADD_CHECKSUM + WORK_ELEMENTS;
  return ok({ step, seen, pass: bad === WORK_ELEMENTS && isShifted });
};

/** In this order: results wait on their dies while the window is elsewhere. */
export const DEMO_STEPS: readonly DemoStep[] = [
  ...DIES.map(online),
  ...[work(0), swap(1), work(1), swap(0)],
  ...DIES.map(read),
  ...[vadd, mutated, bridgeVadd],
];

const expectedSums = (): Float32Array =>
  referenceVadd(selfTestA(WORK_ELEMENTS), selfTestB(WORK_ELEMENTS));

type RunFailure = Omit<DemoFailure, "step">;

/** Runs one of the vadd kernels on the self-test pattern. */
async function runKernel(
  stage: DemoStage,
  name: CatalogueName,
): Promise<Result<Float32Array, RunFailure>> {
  const path = join(stage.folder, name);
  const kernel = catalogueKernel(name);
  const job: Job = {
    module: { name: "base.ptx", path: stage.basePayload },
    entry: kernel.entry,
    ...launchShape(kernel, WORK_ELEMENTS),
    sharedBytes: 0,
    timeoutMs: stage.timeoutMs,
    arguments: [
      { ...buffer, source: { kind: "zero" }, target: { kind: "file", path } },
      ramp(0.5, 1000),
      ramp(0.25, 997),
      { kind: "scalar", type: "u32", value: String(WORK_ELEMENTS) },
    ],
  };
  const result = await stage.owner.run(0, job);
  if (result.status !== "ok") {
    const { call, message, name: cause } = result.cause;
    return err({ message: `${call}: ${message}`, isAbsent: cause === "no_device" });
  }
  const bytes = readFileSync(path);
  return ok(new Float32Array(new Uint8Array(bytes).buffer));
}

const buffer = { kind: "buffer", bytes: WORK_ELEMENTS * Float32Array.BYTES_PER_ELEMENT } as const;

const ramp = (scale: number, modulus: number): JobArgument => ({
  ...buffer,
  source: { kind: "pattern", pattern: { kind: "ramp", scale, modulus } },
  target: null,
});

function failed(step: string, refusal: OwnerRefusal): Result<never, DemoFailure> {
  const isAbsent = refusal.code === "no_device" || refusal.code === "no_such_die";
  return err({ step, message: refusal.message, isAbsent });
}
