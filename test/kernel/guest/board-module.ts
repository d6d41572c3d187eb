/** The board and its driver from the tests' side: test/kernel/board-module says what they can do. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { untilTrue } from "./until.ts";

/** What slot-check left loaded, with these. */
export const DIES = 4;
export const BAR1_BYTES = 4 * 2 ** 20;
export const BAR0_BYTES = 64 * 2 ** 10;

/** PCI address of a die, as sysfs names it. */
export const addressOf = (die: number): string => `1000:00:${String(die).padStart(2, "0")}.0`;

const DEVICES = "/sys/bus/pci/devices";
export const DRIVER = "/sys/bus/pci/drivers/nvidia";

/** A file of the die's in sysfs. */
export const dieFile = (die: number, name: string): string => join(DEVICES, addressOf(die), name);

export const readDieFile = (die: number, name: string): string =>
  readFileSync(dieFile(die, name), "utf8");

/** The driver that has it, by its link; null where none has. */
export function driverOf(die: number): string | null {
  const link = dieFile(die, "driver");
  return existsSync(link) ? basename(readlinkSync(link)) : null;
}

export const driversOfAll = (): (string | null)[] =>
  Array.from({ length: DIES }, (_, die) => driverOf(die));

const parameterFile = (module: string, name: string): string =>
  `/sys/module/${module}/parameters/${name}`;

export type BoardSetting =
  "present" | "slot_delay_ms" | "slot_stall" | "slot_stall_killable" | "slot_errno" | "slot_lose";

/** Sets what the board does from now on. */
export function setBoard(name: BoardSetting, value: number): void {
  writeFileSync(parameterFile("hf_board", name), String(value));
}

/** All dies answer: a bit for each. */
export const ALL_PRESENT = 2 ** DIES - 1;

export type DriverSetting = "probe_delay_ms" | "probe_errno" | "probe_stall";

/** Sets what the driver's probes do from now on. Precondition: it is loaded. */
export function setDriver(name: DriverSetting, value: number): void {
  writeFileSync(parameterFile("nvidia", name), String(value));
}

/** How often the driver was asked to take a die, or to give one back, since it was loaded. */
export const countOf = (name: "probes" | "removes"): number =>
  Number(readFileSync(parameterFile("nvidia", name), "utf8"));

export const isDriverLoaded = (): boolean => existsSync("/sys/module/nvidia");

export function modprobe(...args: string[]): void {
  execFileSync("modprobe", args, { encoding: "utf8", stdio: "pipe" });
}

/** As after a boot: no driver, no override, every die on the bus and none in the slot. */
export function resetBoard(): void {
  if (isDriverLoaded()) {
    setDriver("probe_stall", 0);
    modprobe("-r", "nvidia");
  }
  setBoard("slot_stall", 0);
  setBoard("slot_errno", 0);
  setBoard("slot_delay_ms", 0);
  setBoard("present", ALL_PRESENT);
  setBoard("slot_lose", 1);
  writeFileSync("/sys/bus/pci/rescan", "1");
  const dies = Number(readFileSync(parameterFile("hf_board", "dies"), "utf8"));
  for (let die = 0; die < dies; die++) writeFileSync(dieFile(die, "driver_override"), "\n");
}

/** Takes the board away, once nobody has the slot open: a killed process has for a moment. */
export async function unloadBoard(): Promise<void> {
  await untilTrue(() => tryTo("rmmod", "hf_board"));
}

export function loadBoard(dies: number): void {
  execFileSync("insmod", ["/mnt/hf_board.ko", `dies=${dies}`], { stdio: "pipe" });
}

function tryTo(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "pipe" });
    return true;
  } catch {
    return false;
  }
}
