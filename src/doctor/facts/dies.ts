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
import type { DieFacts, LinkFacts, PowerFacts } from "../facts.ts";
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

/** The header of configuration space, which everybody may read. */
const CONFIG_BYTES = 64;

/** driver_override names a driver; a page is as much as any attribute has. */
const ATTRIBUTE_BYTES_MAX = 4096;

/** Dies that are asked side by side; more of them wait for one another. */
const LANES_MAX = 16;

/** A GPU, before anything that could wake it or hang was asked. */
export type FoundGpu = { readonly pci: PciFunction; readonly power: PowerFacts };

/** The GPUs among these functions, from what the kernel has cached. */
export const findGpus = (
  files: MachineFiles,
  functions: readonly PciFunction[],
): readonly FoundGpu[] =>
  functions.filter(isNvidiaGpu).map((pci) => ({ pci, power: readPower(files, pci.name) }));

/** These two attributes say what the kernel remembers; the device is not asked. */
function readPower(files: MachineFiles, name: string): PowerFacts {
  const state = files.text(`${DEVICES}/${name}/power_state`);
  const runtimeStatus = files.text(`${DEVICES}/${name}/power/runtime_status`);
  const isAsleep = /^D3/.test(state ?? "") || /^suspend/.test(runtimeStatus ?? "");
  return { state, isAsleep };
}

/** What asks the devices themselves goes through `prober`, several of them side by side. */
export async function readDies(options: {
  readonly files: MachineFiles;
  readonly gpus: readonly FoundGpu[];
  readonly prober: Prober;
}): Promise<readonly DieFacts[]> {
  const { files, gpus, prober } = options;
  const lanes = Array.from({ length: Math.min(LANES_MAX, gpus.length) }, (_, lane) =>
    gpus.filter((_, at) => at % LANES_MAX === lane),
  );
  const dies = await Promise.all(lanes.map((lane) => askDies({ files, gpus: lane, prober })));
  return dies.flat().sort((a, b) => orderOf(gpus, a) - orderOf(gpus, b));
}

const orderOf = (gpus: readonly FoundGpu[], { address }: DieFacts): number =>
  gpus.findIndex(({ pci }) => pci.name === address);

/** The dies of one lane, one after another. */
async function askDies({
  files,
  gpus,
  prober,
}: Parameters<typeof readDies>[0]): Promise<readonly DieFacts[]> {
  const jobsOf = gpus.map(({ pci: { name }, power }): readonly ProbeJob[] => [
    // To read the configuration space of a device that is asleep wakes it.
    ...(power.isAsleep ? [] : [configJob(name)]),
    { kind: "read", path: `${DEVICES}/${name}/driver_override`, bytesMax: ATTRIBUTE_BYTES_MAX },
  ]);
  const answers = [...(await prober(jobsOf.flat()))];
  return gpus.map(({ pci, power }) => {
    const config = power.isAsleep ? NOT_ASKED : (answers.shift() ?? NOT_ASKED);
    const override = answers.shift() ?? NOT_ASKED;
    // The link's registers are in configuration space too: only what answers is asked for them.
    const link = config.state === "bytes" ? readLink(files, `${DEVICES}/${pci.name}`) : null;
    return { ...placeOf(files, pci), power, config, override, link };
  });
}

const configJob = (name: string): ProbeJob => ({
  kind: "read",
  path: `${DEVICES}/${name}/config`,
  bytesMax: CONFIG_BYTES,
});

const NOT_ASKED = { state: "not_asked" } as const;

type Place = Omit<DieFacts, "power" | "config" | "override" | "link">;

function placeOf(files: MachineFiles, pci: PciFunction): Place {
  const folder = `${DEVICES}/${pci.name}`;
  const [root, ...above] = (files.realPath(folder) ?? "")
    .split("/")
    .filter((part) => /^(pci)?[0-9a-f]{4,8}:[0-9a-f]{2}(:|$)/i.test(part));
  const iommuGroup = files.linkName(`${folder}/iommu_group`);
  return {
    address: pci.name,
    name: gpuName(pci),
    pci,
    rootBus: root?.startsWith("pci") === true ? root.slice("pci".length) : null,
    bridges: above.slice(0, -1),
    minor: readMinor(files, pci.name),
    iommuGroup,
    vfioPaths: [
      ...(iommuGroup === null ? [] : [`/dev/vfio/${iommuGroup}`]),
      ...files.names(`${folder}/vfio-dev`).map((name) => `/dev/vfio/devices/${name}`),
    ],
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
