/**
 * The guest: a q35 machine under qemu's own emulation, whose root is the host's, read-only, and
 * whose RAM is a file on the host.
 *
 * Emulation is asked for by name: /dev/kvm may open and make a machine, and yet run none of it.
 */
import { spawn } from "node:child_process";
import { closeSync, createWriteStream, ftruncateSync, openSync } from "node:fs";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { KernelImage } from "./kernel-image.ts";
import { TOOL_PATH } from "./tool.ts";

/**
 * The least RAM of which q35 puts a part above 4 GiB: from 2.75 GiB on it keeps 2 GiB below the PCI
 * hole, with less all of it lies below (qemu hw/i386/pc_q35.c, pc_q35_init).
 */
export const RAM_BYTES = 2816 * 2 ** 20;

/** What lies below the hole, and so `--ram-low-size`. guest/run.sh compares it with /proc/iomem. */
export const RAM_LOW_BYTES = 2 ** 31;

/** For test/kernel/board-module: four BAR1s of 4 MiB and as much again for all BAR0s; a power of 2. */
export const BAR_BYTES = 32 * 2 ** 20;

const PROCESSORS = 2;

/**
 * Has what WebAssembly's SIMD needs (SSE 4.1), and little else to emulate: `max`, with five levels
 * of page tables among other things, takes more than twice the time.
 */
const PROCESSOR = "Nehalem";

/** Quiet, but for what we write; a panic ends the guest at once instead of a wait. */
const KERNEL_COMMAND_LINE =
  "console=ttyS0 quiet panic=-1 oops=panic mitigations=off nokaslr random.trust_cpu=on";

export type GuestOptions = {
  readonly kernel: KernelImage;
  readonly initramfs: string;
  /** Made here, sparse. */
  readonly ramFile: string;
  /** Memory behind the BARs of the software PCI functions; made here, sparse. */
  readonly barFile: string;
  /** Folder that the guest sees as /mnt and may write to. */
  readonly share: string;
  readonly serialLog: string;
  readonly timeoutMs: number;
  /** Takes each line of the serial console. */
  readonly onLine: (line: string) => void;
};

/** How it ended. qemu ends with 0 after a panic too: what counts is on the console. */
export type GuestEnd = "powered_off" | "timed_out";

/** Makes a file of memory, whose pages exist once they are written. */
export function makeMemoryFile(path: string, bytes: number): void {
  const descriptor = openSync(path, "wx", 0o600);
  ftruncateSync(descriptor, bytes);
  closeSync(descriptor);
}

/** Boots it and waits for its end. Rejects where qemu cannot be started or fails by itself. */
export async function runGuest(options: GuestOptions): Promise<GuestEnd> {
  const serial = createWriteStream(options.serialLog);
  const child = spawn("qemu-system-x86_64", machineFlags(options), {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PATH: TOOL_PATH },
  });
  const timeout = { isOver: false };
  const timer = setTimeout(() => {
    timeout.isOver = true;
    child.kill("SIGKILL");
  }, options.timeoutMs);
  const end = (): void => void child.kill("SIGKILL");
  process.once("exit", end);

  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint += String(chunk)));
  createInterface({ input: child.stdout }).on("line", (raw) => {
    const line = raw.replaceAll("\r", "");
    serial.write(`${line}\n`);
    options.onLine(line);
  });
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  process.off("exit", end);
  await new Promise((resolve) => serial.end(resolve));
  if (timeout.isOver) return "timed_out";
  if (code !== 0) throw new Error(`qemu ended with ${String(code)}: ${complaint.trim()}`);
  return "powered_off";
}

function machineFlags(options: GuestOptions): string[] {
  return [
    ...["-accel", "tcg,thread=multi", "-machine", "q35,memory-backend=ram", "-cpu", PROCESSOR],
    ...["-smp", String(PROCESSORS), "-m", `${String(RAM_BYTES / 2 ** 20)}M`],
    ...memoryFlags("ram", options.ramFile, RAM_BYTES),
    ...memoryFlags("bars", options.barFile, BAR_BYTES),
    ...["-device", "ivshmem-plain,memdev=bars"],
    // Nothing that was not asked for; above all no network.
    ...["-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio", "-no-reboot"],
    ...["-kernel", options.kernel.path, "-initrd", options.initramfs],
    ...["-append", KERNEL_COMMAND_LINE],
    ...folderFlags("host", "/", "readonly=on,multidevs=remap"),
    ...folderFlags("share", options.share, "readonly=off"),
  ];
}

const memoryFlags = (id: string, path: string, bytes: number): string[] => [
  "-object",
  `memory-backend-file,id=${id},size=${String(bytes)},share=on,mem-path=${commaSafe(path)}`,
];

const folderFlags = (tag: string, path: string, flags: string): string[] => [
  ...["-fsdev", `local,id=${tag},path=${commaSafe(path)},security_model=none,${flags}`],
  ...["-device", `virtio-9p-pci,fsdev=${tag},mount_tag=${tag}`],
];

/** A comma in a value is written twice in qemu's option lists. */
const commaSafe = (path: string): string => path.replaceAll(",", ",,");
