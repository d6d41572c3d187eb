/**
 * The kernel test from end to end: a stock kernel is booted under emulation; in it run the
 * unchanged daemon against a real debugfs mailbox (v2), a program whose memory the daemon on the host
 * reads and writes (v1), and the owner over dies that are PCI functions behind one window.
 */
import { copyFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildGuestProgram, buildModules, buildSlotCheck } from "./build.ts";
import { BAR_BYTES, makeMemoryFile, RAM_BYTES, RAM_LOW_BYTES } from "./guest.ts";
import type { OptionalPart } from "./console.ts";
import { HostBridge } from "./host-bridge.ts";
import { buildInitramfs } from "./initramfs.ts";
import type { KernelImage } from "./kernel-image.ts";
import { chooseRamFolder, makeRunFolder, openCache } from "./places.ts";
import { prepareMachine } from "./prepare.ts";
import type { Progress } from "./progress.ts";
import { writeVerdict } from "./verdict.ts";
import { watchGuest } from "./watch.ts";

type Run = {
  /** The repository. */
  readonly root: string;
  readonly wanted: readonly OptionalPart[];
  readonly kernel: KernelImage;
  /** Of this run; the guest sees its `share`. */
  readonly folder: string;
  readonly ramFile: string;
  readonly barFile: string;
  readonly progress: Progress;
};

/** Runs it; true where everything passed. Throws a SkipGate where this machine cannot. */
export async function runGate(
  root: string,
  wanted: readonly OptionalPart[],
  progress: Progress,
): Promise<boolean> {
  const cache = openCache();
  const kernel = prepareMachine(cache, progress);
  const ramFolder = chooseRamFolder(cache);
  const removeRam = (): void => {
    rmSync(ramFolder, { recursive: true, force: true });
  };
  process.once("exit", removeRam);
  const folder = makeRunFolder(cache);
  let isGood = false;
  try {
    const [ramFile, barFile] = [join(ramFolder, "ram"), join(ramFolder, "bars")];
    isGood = await runIn({ root, wanted, kernel, folder, ramFile, barFile, progress });
  } finally {
    removeRam();
    if (isGood) rmSync(folder, { recursive: true, force: true });
    else keepFailure(cache, folder, progress);
  }
  return isGood;
}

function keepFailure(cache: string, folder: string, progress: Progress): void {
  const kept = join(cache, "last-failure");
  rmSync(kept, { recursive: true, force: true });
  renameSync(folder, kept);
  progress.note(`what the run left is in ${kept}`);
}

async function runIn(run: Run): Promise<boolean> {
  const { wanted, folder, ramFile, barFile, progress } = run;
  const share = join(folder, "share");
  progress.note("building the modules, the guest's programs and its first root");
  const initramfs = build(run, share);

  makeMemoryFile(ramFile, RAM_BYTES);
  makeMemoryFile(barFile, BAR_BYTES);
  const bridge = wanted.includes("v1") ? startBridge(run, share) : null;
  progress.note("booting the guest (emulated, never KVM; no network)");
  const serialLog = join(folder, "serial.log");
  const guest = { kernel: run.kernel, initramfs, ramFile, barFile, share, serialLog };
  const report = await watchGuest(guest, wanted, progress);
  const code = (await bridge?.stop()) ?? null;
  const { jobLines = [], otherLines = [] } = bridge ?? {};
  const evidence = bridge === null ? null : { jobLines, otherLines, code };
  return writeVerdict({ report, bridge: evidence, serialLog }, progress);
}

/** The daemon on the host, which serves part v1. */
function startBridge({ root, folder, ramFile }: Run, share: string): HostBridge {
  const stateDirectory = join(folder, "state");
  return new HostBridge({ root, mailbox: join(share, "v1"), ramFile, stateDirectory });
}

/** Puts into the share what the guest runs; returns the initramfs. */
function build({ root, wanted, kernel, folder }: Run, share: string): string {
  buildModules(root, kernel.version, folder, share);
  buildGuestProgram(root, share);
  buildSlotCheck(root, share);
  const guest = join(root, "test", "kernel", "guest");
  const initramfs = join(folder, "initramfs.cpio");
  buildInitramfs(kernel, join(guest, "init"), initramfs);
  copyFileSync(join(guest, "run.sh"), join(share, "run.sh"));
  const settings = {
    NODE: process.execPath,
    ROOT: root,
    RAM_LOW_BYTES: String(RAM_LOW_BYTES),
    WANTED: wanted.join(" "),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${shellQuoted(value)}\n`);
  writeFileSync(join(share, "settings"), lines.join(""));
  return initramfs;
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
