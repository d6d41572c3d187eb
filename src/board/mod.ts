export type {
  Board,
  BoardDie,
  BoardEvent,
  BoardFailure,
  BoardVerdict,
  CountedDevice,
  DriverBinding,
  Holder,
  Inventory,
  Presence,
  SlotKind,
  SlotView,
} from "./board.ts";
export { createDirectBoard, type DirectHardware } from "./direct-board.ts";
export { BAR_SWAP_PATH, BAR_SWAP_VERSION } from "./bar-swap-abi.ts";
export {
  createBarSwapBoard,
  type BarSwapBoard,
  type BarSwapBoardOptions,
} from "./bar-swap-board.ts";
export { openBarSwap } from "./bar-swap-ffi.ts";
export {
  comparePciAddresses,
  formatPciAddress,
  isSamePciAddress,
  parsePciAddress,
  type PciAddress,
} from "./pci-address.ts";
export {
  CONFIG_BYTES,
  GK210_DEVICE,
  gpuName,
  isNvidiaGpu,
  NVIDIA_VENDOR,
  parseConfig,
  readConfig,
  readDriver,
  readOverride,
  readPciFunction,
  scanNvidiaGpus,
  scanPci,
  type PciConfig,
  type PciFunction,
} from "./pci-function.ts";
export { parseResource, type PciBar } from "./pci-resource.ts";
export { readBytes, readLinkName, readNames, readText } from "./sysfs.ts";
export {
  followKernelLog,
  openKernelLog,
  parseKernelRecord,
  type KernelLogOptions,
  type KernelLogSource,
  type KernelRecord,
} from "./kernel-log.ts";
export { createKernelWatch, type KernelWatchOptions } from "./kernel-watch.ts";
export {
  createSimBoard,
  dieOfStepPid,
  openSimBoard,
  type SimBoardOptions,
  type SimStep,
} from "./sim-board.ts";
export { overridesOf } from "./sim-driver.ts";
export {
  createSimMachine,
  SimMachine,
  type SimDieState,
  type SimMachineOptions,
  type SimObservation,
  type SimSlotState,
  type SimStepOutcome,
  type SimViolation,
  type Struck,
} from "./sim-machine.ts";
export {
  SIM_FAULTS,
  SIM_LATENCIES,
  SIM_MACHINE,
  SIM_STEPS,
  type SimFault,
  type SimFaultName,
  type SimFaultSort,
  type SimLatencies,
  type SimLatency,
  type SimMachineSpec,
  type SimStepName,
} from "./sim-scenario.ts";
export { boardEventOf, pciSlot, XidScanner, type XidSighting } from "./xid.ts";
export { mendOf, XIDS, xidOf, type Xid, type XidClass, type XidMend } from "./xid-catalogue.ts";
export { createStepLauncher } from "./step-process.ts";
export type { StepAnswer, StepQuestion, StepReady } from "./step-protocol.ts";
export { createStepRunner, type StepFailure, type StepLauncher } from "./step-runner.ts";
export { createStepServer, type SlotDevice } from "./step-server.ts";
export { BLOCKED_OVERRIDE } from "./driver-override.ts";
export { describeHolders, findHolders, type DieHolder } from "./holders.ts";
export { moduleState, type ModuleState } from "./module-load.ts";
export { ordinalByAddress } from "./ordinal.ts";
export { checkSlotDevice } from "./slot-device.ts";
export { isProcessAlive, readProcess, type ProcessState } from "./process-state.ts";
export { foreignHolder, type SlotHolder } from "./slot-holder.ts";
