/**
 * For tests of the owner: a model GPU that follows a script, and die hosts that run in this process
 * over it. Everything above the port is the real code.
 */
import { invariant, ok, systemClock } from "../base/mod.ts";
import {
  CALM_CONDUCT,
  createModelGpu,
  GpuError,
  MODEL_DEVICE,
  type Gpu,
  type GpuRefusal,
  type Launch,
  type ModelConduct,
  type ModelDevice,
} from "../gpu/mod.ts";
import type { DieHostOptions } from "./die-host.ts";
import { openHostLink, type HostLink } from "./host-link.ts";
import type { Job, JobResult } from "./job.ts";
import { createLocalLauncher, type LocalLauncher } from "./local-host.ts";

/** What the fake GPU did, and what it shall do wrong. */
export type FakeGpuScript = {
  /** Polls of a stream or an event until a launch is done. */
  pollsPerLaunch: number;
  /** No launch of this kernel ends; null: none is held up. */
  heldKernel: string | null;
  /** The next launch fails with CUDA's 700 when it is polled. */
  isNextLaunchFaulty: boolean;
  /** The next launch never ends. */
  isNextLaunchEndless: boolean;
  /** Contexts closed and buffers freed so far: nothing resident may ever be. */
  closedContexts: number;
  /** Device buffers freed so far. */
  freedBuffers: number;
  /** Memory of others cannot be page-locked. */
  isAdoptRefused: boolean;
  openedContexts: number;
  /** Called with each launch that is accepted. */
  onLaunch: (launch: Launch) => void;
  /** Called with what each kernel has written to its first argument, to spoil it. */
  onOutput: (output: Uint8Array) => void;
};

export const createFakeScript = (): FakeGpuScript => ({
  pollsPerLaunch: 0,
  heldKernel: null,
  isNextLaunchFaulty: false,
  isNextLaunchEndless: false,
  closedContexts: 0,
  freedBuffers: 0,
  isAdoptRefused: false,
  openedContexts: 0,
  onLaunch: () => undefined,
  onOutput: () => undefined,
});

const adoptRefusal: GpuRefusal = {
  code: "unavailable",
  driverCode: 801,
  errorName: "CUDA_ERROR_NOT_SUPPORTED",
  call: "cuMemHostRegister_v2",
  message: "this memory cannot be page-locked",
};

const illegalAddress = (): GpuError =>
  new GpuError({
    code: 700,
    errorName: "CUDA_ERROR_ILLEGAL_ADDRESS",
    call: "fakeLaunch",
    sticky: true,
  });

/** One launch as the script has it: done after some polls, or faulty, or never. */
function beginLaunch(script: FakeGpuScript, launch: Launch): () => boolean {
  script.onLaunch(launch);
  const [isFaulty, isEndless] = [script.isNextLaunchFaulty, script.isNextLaunchEndless];
  script.isNextLaunchFaulty = false;
  script.isNextLaunchEndless = false;
  let pollsLeft = script.pollsPerLaunch;
  return () => {
    if (isFaulty) throw illegalAddress();
    if (isEndless || script.heldKernel === launch.kernel.name) return false;
    pollsLeft -= 1;
    return pollsLeft < 0;
  };
}

/** Between two records, on a device's clock: every kernel takes as long. */
const KERNEL_NS = 1000;

function scriptedConduct(script: FakeGpuScript): ModelConduct {
  let nowNs = 0;
  return {
    ...CALM_CONDUCT,
    nowNs: () => (nowNs += KERNEL_NS),
    begin: (work) => (work.kind === "launch" ? beginLaunch(script, work.launch) : () => true),
    onOutput: (output) => script.onOutput(output),
    refuseContext: () => {
      script.openedContexts += 1;
      return null;
    },
    refuseAdoption: () => (script.isAdoptRefused ? adoptRefusal : null),
    onClose: (what) => {
      if (what === "context") script.closedContexts += 1;
      else script.freedBuffers += 1;
    },
  };
}

/** A GPU of `devices` devices, all following one script. */
export function createFakeGpu(script: FakeGpuScript, devices: number): Gpu {
  const conduct = scriptedConduct(script);
  const all: readonly ModelDevice[] = Array.from({ length: devices }, (_, ordinal) => ({
    info: { ...MODEL_DEVICE, name: "fake", ordinal },
    conduct,
  }));
  return createModelGpu(() => all);
}

/** Hosts of the fake GPU. `killAll` ends those that are alive. */
export function createFakeLauncher(script: FakeGpuScript, devices: number): LocalLauncher {
  return createLocalLauncher({
    clock: systemClock,
    openGpu: () => ok({ gpu: createFakeGpu(script, devices), note: null }),
  });
}

/** One die in a host in this process, brought up, for tests that run jobs on it. */
export async function openJobBench(
  openGpu: DieHostOptions["openGpu"],
  onNote: (line: string) => void = () => undefined,
): Promise<{ readonly link: HostLink; readonly run: (job: Job) => Promise<JobResult> }> {
  const { launch } = createLocalLauncher({ clock: systemClock, openGpu });
  const link = openHostLink(launch(), { clock: systemClock, onNote });
  const opened = await link.call("initialise", {});
  invariant(opened.ok, "the backend opens");
  const context = await link.call("context", { die: 0, ordinal: 0 });
  invariant(context.ok, "a context is made");
  return { link, run: (job) => link.start(0, job).finished };
}
