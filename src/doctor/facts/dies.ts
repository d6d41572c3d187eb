/** NVIDIA's GPUs on the bus, with what lies between them and the processor. */
import { FileError } from "../../base/mod.ts";
import {
  comparePciAddresses,
  gpuName,
  isNvidiaGpu,
  isSamePciAddress,
  parsePciAddress,
  readPciFunction,
  type PciFunction,
} from "../../board/mod.ts";
import type { DieFacts, LinkFacts } from "../facts.ts";
import type { MachineFiles } from "../machine-files.ts";
import type { ProbeJob, Prober } from "../prober.ts";

const DEVICES = "sys/bus/pci/devices";

/** Functions that are looked at: eight boards and two processors have some hundred. */
const FUNCTIONS_MAX = 4096;

/**
 * Reads every PCI function from what the kernel has cached. One that cannot be read is left out.
 */
export function readFunctions(files: MachineFiles): readonly PciFunction[] {
  return files
    .names(DEVICES)
    .slice(0, FUNCTIONS_MAX)
    .flatMap((name) => parsePciAddress(name) ?? [])
    .sort(comparePciAddresses)
    .flatMap((address) => {
      try {
        return readPciFunction(files.root, address) ?? [];
      } catch (error) {
        if (!(error instanceof FileError)) throw error;
        files.deny({ path: error.path.slice(files.root.length), code: error.code });
        return [];
      }
    });
}

/** The GPUs among these functions. What asks the device itself goes through `prober`. */
export async function readDies(options: {
  readonly files: MachineFiles;
  readonly functions: readonly PciFunction[];
  readonly prober: Prober;
}): Promise<readonly DieFacts[]> {
  const { files, functions, prober } = options;
  const gpus = functions.filter(isNvidiaGpu);
  const jobs = gpus.flatMap(({ name }): readonly ProbeJob[] => [
    { kind: "read", path: `${DEVICES}/${name}/config` },
    { kind: "read", path: `${DEVICES}/${name}/driver_override` },
  ]);
  const answers = await prober(jobs);
  return gpus.map((pci, at) => {
    const [config = NOT_ASKED, override = NOT_ASKED] = answers.slice(2 * at, 2 * at + 2);
    return { ...placeOf(files, pci), config, override };
  });
}

const NOT_ASKED = { state: "not_asked" } as const;

function placeOf(files: MachineFiles, pci: PciFunction): Omit<DieFacts, "config" | "override"> {
  const folder = `${DEVICES}/${pci.name}`;
  const [root, ...above] = (files.realPath(folder) ?? "")
    .split("/")
    .filter((part) => /^(pci)?[0-9a-f]{4,8}:[0-9a-f]{2}(:|$)/i.test(part));
  return {
    address: pci.name,
    name: gpuName(pci),
    pci,
    rootBus: root?.startsWith("pci") === true ? root.slice("pci".length) : null,
    bridges: above.slice(0, -1),
    link: readLink(files, folder),
    minor: readMinor(files, pci.name),
    iommuGroup: files.linkName(`${folder}/iommu_group`),
  };
}

function readLink(files: MachineFiles, folder: string): LinkFacts | null {
  const [width, widthMax] = ["current_link_width", "max_link_width"].map((name) =>
    Number(files.text(`${folder}/${name}`) ?? Number.NaN),
  );
  if (width === undefined || widthMax === undefined) return null;
  if (!Number.isInteger(width) || !Number.isInteger(widthMax)) return null;
  return {
    width,
    widthMax,
    speed: files.text(`${folder}/current_link_speed`) ?? "?",
    speedMax: files.text(`${folder}/max_link_speed`) ?? "?",
  };
}

/** The driver's folder of a die has a name of its own spelling. */
function readMinor(files: MachineFiles, address: string): number | null {
  const gpus = "proc/driver/nvidia/gpus";
  const folder = files.names(gpus).find((name) => isSamePciAddress(name, address));
  if (folder === undefined) return null;
  const text = files.text(`${gpus}/${folder}/information`) ?? "";
  const minor = /^Device Minor:\s*(\d{1,4})\s*$/m.exec(text)?.[1];
  return minor === undefined ? null : Number(minor);
}
