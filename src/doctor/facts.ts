/** What is known of a machine before anything is judged: read once, then handed to every check. */
import type { PciFunction, SlotKind } from "../board/mod.ts";
import type { Denied, User } from "./machine-files.ts";
import type { ProbeResult } from "./prober.ts";
import type { BridgeFacts, RootWindow } from "./facts/windows.ts";
import type { DriverFacts } from "./facts/driver.ts";
import type { LibraryFile } from "./facts/libcuda-files.ts";
import type { LimitFacts } from "./facts/limits.ts";
import type { LogFacts } from "./facts/kernel-log-facts.ts";
import type { NodeFacts } from "./facts/nodes.ts";
import type { ProcessFacts } from "./facts/processes.ts";
import type { SecurityFacts } from "./facts/security.ts";
import type { StateFacts } from "./facts/state.ts";

/** What the machine is wanted for. */
export type Asked = {
  /** Null: whatever the machine has. */
  readonly slot: SlotKind | null;
  readonly backend: "auto" | "cuda" | "soft";
};

/** A GPU of NVIDIA's. */
export type DieFacts = {
  /** As sysfs names it. */
  readonly address: string;
  /** E.g. `GK210 (Tesla K80)`. */
  readonly name: string;
  readonly pci: PciFunction;
  /** From the root to the die; addresses. */
  readonly bridges: readonly string[];
  /** E.g. `0000:00`; null where sysfs does not show it. */
  readonly rootBus: string | null;
  /** Null where sysfs does not tell, or the die was not asked. */
  readonly link: LinkFacts | null;
  readonly power: PowerFacts;
  /** The first bytes of its configuration space; not asked of a die that is asleep. */
  readonly config: ProbeResult;
  /** Its driver_override. */
  readonly override: ProbeResult;
  /** N of /dev/nvidiaN; null where the driver does not say. */
  readonly minor: number | null;
  readonly iommuGroup: string | null;
  /** What a guest's emulator opens to have the die: its group, or itself where iommufd is used. */
  readonly vfioPaths: readonly string[];
};

/** As the kernel remembers it. */
export type PowerFacts = {
  /** `D0`, `D3cold` and the like; null where sysfs does not tell. */
  readonly state: string | null;
  /** Whether to ask it would wake it. */
  readonly isAsleep: boolean;
};

/** PCIe lanes, now and at best; 0 where sysfs does not tell. */
export type LinkFacts = {
  readonly width: number;
  readonly widthMax: number;
  readonly speed: string;
  readonly speedMax: string;
};

export type RuntimeFacts = {
  /** E.g. `v20.19.0`. */
  readonly nodeVersion: string;
  /** As Node calls it: `x64`, `arm64`. */
  readonly architecture: string;
  readonly user: User;
  readonly isContainer: boolean;
  readonly kernelRelease: string | null;
};

/** The environment's variables that change what the driver shows. */
export type Environment = Readonly<Record<string, string | undefined>>;

export type SlotFacts = {
  /** Whether /dev/bar_swap is there. */
  readonly isThere: boolean;
  readonly mayOpen: boolean;
  readonly answer: ProbeResult;
};

export type DebugfsFacts = {
  /** Whether the kernel has a place for it. */
  readonly isKnown: boolean;
  readonly isMounted: boolean;
  readonly mayRead: boolean;
};

export type IommuFacts = {
  readonly units: readonly string[];
  readonly groupCount: number;
};

export type Facts = {
  readonly asked: Asked;
  /** What was asked for, or else what the machine has. */
  readonly slotKind: SlotKind;
  readonly runtime: RuntimeFacts;
  readonly environment: Environment;
  readonly dies: readonly DieFacts[];
  /** Addresses of all PCI functions. */
  readonly functions: readonly string[];
  readonly bridges: readonly BridgeFacts[];
  readonly rootWindows: readonly RootWindow[];
  readonly driver: DriverFacts;
  readonly nodes: NodeFacts;
  readonly libraries: readonly LibraryFile[];
  readonly libcuda: ProbeResult;
  readonly slot: SlotFacts;
  readonly processes: ProcessFacts;
  readonly security: SecurityFacts;
  readonly debugfs: DebugfsFacts;
  readonly iommu: IommuFacts;
  readonly log: LogFacts;
  readonly limits: LimitFacts;
  readonly state: StateFacts;
  readonly denied: readonly Denied[];
};
