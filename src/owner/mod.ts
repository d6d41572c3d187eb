export type { ScalarType } from "../gpu/mod.ts";
export { describeCause } from "./job.ts";
export { WORK_BLOCK_THREADS, WORK_ELEMENTS } from "../gpu/mod.ts";
export {
  BRING_UP_STEPS,
  describeStep,
  noJournal,
  type BringUpStep,
  type Journal,
  type JournalEntry,
  type JournalLine,
} from "./journal.ts";
export { JOURNAL_NAME, openJournal, readBootId, readJournal } from "./journal-file.ts";
export {
  countStrange,
  findInterruptions,
  parseJournal,
  type Interruption,
  type JournalSurroundings,
} from "./journal-report.ts";
export { adviceFor, type RungTrouble } from "./wedge-advice.ts";
export { DieHost, type DieHostOptions, type OpenedGpu } from "./die-host.ts";
export { createHostLauncher, HOST_SOCKET_FD } from "./host-process.ts";
export type { HostLauncher, HostTransport } from "./host-link.ts";
export {
  createLocalLauncher,
  type LocalHost,
  type LocalLauncher,
  type LocalLauncherOptions,
} from "./local-host.ts";
export { HEALTH_PERIOD_MS } from "./health.ts";
export { createOwner } from "./owner.ts";
export { Wedges, type Wedge } from "./wedge.ts";
export { createSpareLauncher } from "./spare-host.ts";
export type { OwnerOptions } from "./die-table.ts";
export { patternType, SCALAR_BYTES } from "./pattern-source.ts";
export { createSingleWindow, DEFAULT_WINDOW_POLICY, type WindowPolicy } from "./window.ts";
export { catalogueOperation, launchShape, type CatalogueKernel, type Dim3 } from "../gpu/mod.ts";
export type {
  ByteSource,
  ByteTarget,
  CheckExtent,
  FileRegion,
  Job,
  JobArgument,
  JobCause,
  JobCheck,
  JobMeasures,
  JobPayload,
  JobProof,
  PayloadOutput,
  JobResult,
  JobStatus,
  ModuleReference,
  Pattern,
} from "./job.ts";
export {
  DIES_MAX,
  WORK_ITERS_MAX,
  type DieTeardown,
  type DiscoveredDie,
  type Discovery,
  type DieState,
  type DieStatus,
  type DrainReport,
  type FaultCount,
  type OnlineReport,
  type Owner,
  type OwnerRefusal,
  type OwnerRefusalCode,
  type OwnerMode,
  type OwnerStatus,
  type ProbeReport,
  type ReadReport,
  type SwapReport,
  type SwapTimes,
  type TeardownReport,
  type WindowStatus,
  type WorkReport,
  type LadderOptions,
  type LadderReport,
  type LadderRow,
  type RungOutcome,
} from "./reports.ts";
