/**
 * The kernel test from end to end: a stock kernel is booted under emulation; in it run the
 * unchanged daemon against a real debugfs mailbox (v2), and a program whose memory the daemon on
 * the host reads and writes (v1).
 */
import { copyFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildGuestProgram, buildModule } from "./build.ts";
import { makeRamFile, RAM_LOW_BYTES } from "./guest.ts";
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
  readonly kernel: KernelImage;
  /** Of this run; the guest sees its `share`. */
  readonly folder: string;
  readonly ramFile: string;
  readonly progress: Progress;
};

/** Runs it; true where everything passed. Throws a SkipGate where this machine cannot. */
export async function runGate(root: string, progress: Progress): Promise<boolean> {
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
    const ramFile = join(ramFolder, "ram");
    isGood = await runIn({ root, kernel, folder, ramFile, progress });
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
  const { root, folder, ramFile, progress } = run;
  const share = join(folder, "share");
  progress.note("building the mailbox module, the guest's program and its first root");
  const initramfs = build(run, share);

  makeRamFile(ramFile);
  const mailbox = join(share, "v1");
  const bridge = new HostBridge({ root, mailbox, ramFile, stateDirectory: join(folder, "state") });
  progress.note("booting the guest (emulated, never KVM; no network)");
  const serialLog = join(folder, "serial.log");
  const guest = { kernel: run.kernel, initramfs, ramFile, share, serialLog };
  const report = await watchGuest(guest, progress);
  const bridgeCode = await bridge.stop();
  return writeVerdict({ report, bridge, bridgeCode, serialLog }, progress);
}

/** Puts into the share what the guest runs; returns the initramfs. */
function build({ root, kernel, folder }: Run, share: string): string {
  buildModule(root, kernel.version, folder, share);
  buildGuestProgram(root, share);
  const guest = join(root, "test", "kernel", "guest");
  const initramfs = join(folder, "initramfs.cpio");
  buildInitramfs(kernel, join(guest, "init"), initramfs);
  copyFileSync(join(guest, "run.sh"), join(share, "run.sh"));
  const settings = { NODE: process.execPath, ROOT: root, RAM_LOW_BYTES: String(RAM_LOW_BYTES) };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${shellQuoted(value)}\n`);
  writeFileSync(join(share, "settings"), lines.join(""));
  return initramfs;
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
