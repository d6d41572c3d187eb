/**
 * Which driver releases know which GPUs. Device ids are those of the public pci.ids database, by
 * range; releases are those of NVIDIA's list of legacy GPUs.
 */
export type GpuFamily = {
  readonly name: string;
  readonly ranges: readonly (readonly [number, number])[];
  /** The last driver branch that has it, e.g. 470. */
  readonly branchMax: number;
};

/** Families that a driver in use may have dropped. Newer ones are in all of them. */
export const OLD_FAMILIES: readonly GpuFamily[] = [
  {
    name: "Fermi",
    ranges: [
      [0x06c0, 0x06df],
      [0x0dc0, 0x0e3b],
      [0x1040, 0x107f],
      [0x1080, 0x109f],
      [0x1140, 0x117f],
      [0x1200, 0x127f],
    ],
    branchMax: 390,
  },
  {
    name: "Kepler",
    ranges: [
      [0x0fc0, 0x103f],
      [0x1180, 0x11ff],
      [0x1280, 0x12bf],
    ],
    branchMax: 470,
  },
  {
    name: "Maxwell",
    ranges: [
      [0x1340, 0x143f],
      [0x1600, 0x167f],
      [0x17c0, 0x17ff],
    ],
    branchMax: 580,
  },
  {
    name: "Pascal",
    ranges: [
      [0x15f0, 0x15ff],
      [0x1b00, 0x1d7f],
    ],
    branchMax: 580,
  },
  { name: "Volta", ranges: [[0x1d80, 0x1dff]], branchMax: 580 },
];

/** The family of a device id; null for Turing and newer. */
export const familyOf = (device: number): GpuFamily | null =>
  OLD_FAMILIES.find(({ ranges }) =>
    ranges.some(([first, last]) => device >= first && device <= last),
  ) ?? null;
