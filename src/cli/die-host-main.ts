/**
 * A die host's process: all native code and all devices live in here. It is started by the owner
 * with one socket, and ends when that closes, however the owner went.
 *
 *   node die-host-main.js --backend auto|cuda|soft --dies N [--fault wrong-element:SEED]
 */
import { Socket } from "node:net";
import { parseArgs } from "node:util";

import { err, invariant, ok, systemClock, type Result } from "../base/mod.ts";
import type { Gpu, GpuRefusal, ReadSignatures } from "../gpu/mod.ts";
import type { InjectedFault } from "../gpu-soft/mod.ts";
import { DieHost, HOST_SOCKET_FD, type OpenedGpu } from "../owner/mod.ts";

type OpenGpu = () => Result<OpenedGpu, GpuRefusal>;

/** How often memory files that are gone are looked for: seldom enough to cost nothing. */
const TIDY_MS = 5000;

/** sysexits.h: EX_SOFTWARE. */
const EXIT_BUG = 70;

/** What `--fault` says: null where it was not given. The owner has checked what a user typed. */
function faultOf(text: string | undefined): InjectedFault | null {
  if (text === undefined) return null;
  const seed = /^wrong-element:(\d+)$/.exec(text)?.[1];
  invariant(seed !== undefined, `--fault ${text}: use wrong-element:SEED`);
  return { kind: "wrong-element", seed: Number(seed) };
}

async function softOpener(dies: number, fault: InjectedFault | null): Promise<() => Gpu> {
  const { openSoftGpu } = await import("../gpu-soft/mod.ts");
  return () => openSoftGpu({ devices: dies, fault });
}

async function cudaOpener(): Promise<() => Result<Gpu, GpuRefusal>> {
  const [{ openCudaGpu }, { formatDiagnostic, readSignatures }] = await Promise.all([
    import("../gpu-cuda/mod.ts"),
    import("../ptx/mod.ts"),
  ]);
  const read: ReadSignatures = (ptx, fileName) => {
    const signatures = readSignatures(ptx, fileName);
    if (signatures.ok) return signatures;
    return err({ message: formatDiagnostic(signatures.error) });
  };
  return () => openCudaGpu({ readSignatures: read });
}

/** Loads the code of the backend, and of no other: CUDA's brings native code into the process. */
async function openerOf(
  backend: string,
  dies: number,
  fault: InjectedFault | null,
): Promise<OpenGpu> {
  invariant(fault === null || backend === "soft", "faults are made in the software GPU only");
  if (backend === "soft") {
    const openSoft = await softOpener(dies, fault);
    return () => ok({ gpu: openSoft(), note: null });
  }
  const openCuda = await cudaOpener();
  const openSoft = backend === "auto" ? await softOpener(dies, null) : null;
  return () => {
    const gpu = openCuda();
    if (gpu.ok) return ok({ gpu: gpu.value, note: null });
    if (openSoft === null) return gpu;
    // What is wrong, without the mend: the software GPU is the mend.
    const [reason = ""] = gpu.error.message.split(";");
    return ok({ gpu: openSoft(), note: `backend soft, since ${reason}` });
  };
}

/**
 * CUDA's calls can block without end, and then nobody here sees the socket close. On the software
 * GPU a long stretch of work must not end in an output that is shown after another process has
 * gone on with the next job.
 */
async function endEvenIfStuck(): Promise<void> {
  const { endWithParent } = await import("./parent-death-ffi.ts");
  endWithParent();
}

/**
 * Ends this process without running any handler: nothing that is mapped or resident is released.
 */
function endNow(): void {
  process.kill(process.pid, "SIGKILL");
}

const { values: flags } = parseArgs({
  options: {
    backend: { type: "string", default: "auto" },
    dies: { type: "string", default: "2" },
    fault: { type: "string" },
  },
});
process.on("uncaughtException", (error) => {
  process.stderr.write(`bug: ${error.stack ?? String(error)}\n`);
  process.exit(EXIT_BUG);
});
await endEvenIfStuck();
const socket = new Socket({ fd: HOST_SOCKET_FD });
let isTornDown = false;
const host = new DieHost({
  openGpu: await openerOf(flags.backend, Number(flags.dies), faultOf(flags.fault)),
  write: (frame) => void socket.write(frame),
  clock: systemClock,
  onTornDown: () => {
    isTornDown = true;
    // Once the reply is out. There is nothing left that must not be released.
    socket.end(() => process.exit(0));
  },
});
socket.on("data", (chunk) => host.receive(chunk));
setInterval(() => host.tidy(), TIDY_MS).unref();
// The owner is gone, whether it left or was killed: so is the reason to hold anything.
const leave = (): void => (isTornDown ? process.exit(0) : endNow());
socket.on("close", leave);
socket.on("error", leave);
