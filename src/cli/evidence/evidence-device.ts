/** 04: which device, by the driver's own tool where there is one, and by ours. */
import { existsSync, readFileSync } from "node:fs";
import { ownCommand, runProgram } from "./child-program.ts";
import { ownerWords, type Evidence, type EvidenceStage } from "./evidence-step.ts";
import { EXIT } from "../exit-code.ts";
import { withOwner } from "../owner-session.ts";
import type { DieStatus, OwnerStatus } from "../../owner/mod.ts";

/** Identity and limits; no serial numbers. */
const QUERY =
  "name,driver_version,vbios_version,pci.bus_id,memory.total,compute_cap,clocks.max.sm,power.limit";

/** What the kernel module says of itself. */
const DRIVER_VERSION = "/proc/driver/nvidia/version";

export async function makeDevice(stage: EvidenceStage): Promise<Evidence> {
  const { surroundings, flags, scratch } = stage;
  const words = ["devices", ...ownerWords(flags)];
  const smi = await runProgram(
    surroundings,
    ["nvidia-smi", `--query-gpu=${QUERY}`, "--format=csv"],
    scratch,
  );
  const devices = await runProgram(surroundings, ownCommand(surroundings, words), scratch);
  let own: readonly string[] = ["no device"];
  const code = await withOwner(
    surroundings,
    { ...flags, json: false, verbose: false },
    async ({ owner }) => {
      await owner.online(0);
      own = deviceLines(await owner.status());
      return EXIT.ok;
    },
  );
  const text = [
    `$ nvidia-smi --query-gpu=${QUERY} --format=csv`,
    smi?.output.trimEnd() ?? "(there is no nvidia-smi on this machine)",
    `\n$ cat ${DRIVER_VERSION}`,
    existsSync(DRIVER_VERSION)
      ? readFileSync(DRIVER_VERSION, "utf8").trimEnd()
      : "(there is no NVIDIA driver on this machine)",
    `\n$ holdfast ${words.join(" ")}`,
    devices?.output.trimEnd() ?? "",
    "\nwhat the owner says of the dies that are online:",
    ...own,
  ].join("\n");
  return { command: `holdfast ${words.join(" ")}`, text, pass: code === EXIT.ok };
}

const deviceLines = ({ backend, dies }: OwnerStatus): readonly string[] =>
  dies.filter(({ ready }) => ready).map((die) => deviceLine(die, backend ?? "none"));

/** `DEVICE die=0 backend=cuda name="…" address=… memory_total=… memory_free=…`. */
function deviceLine({ die, deviceName, address, memory }: DieStatus, backend: string): string {
  const bytes =
    memory === null ? "" : ` memory_total=${memory.totalBytes} memory_free=${memory.freeBytes}`;
  const identity = `name="${deviceName ?? ""}" address=${address ?? ""}`;
  return `DEVICE die=${die} backend=${backend} ${identity}${bytes}`;
}
