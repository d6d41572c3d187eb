import type { Check } from "./check.ts";
import { access } from "./checks/access.ts";
import { bars } from "./checks/bars.ts";
import { bringUp } from "./checks/bring-up.ts";
import { debugfs } from "./checks/debugfs.ts";
import { dieDriver } from "./checks/die-driver.ts";
import { driverStart } from "./checks/driver-start.ts";
import { driverVersion } from "./checks/driver-version.ts";
import { gpuPresent } from "./checks/gpu-present.ts";
import { holders } from "./checks/holders.ts";
import { iommu } from "./checks/iommu.ts";
import { kernelLog } from "./checks/kernel-log.ts";
import { libcuda } from "./checks/libcuda.ts";
import { limits } from "./checks/limits.ts";
import { link } from "./checks/link.ts";
import { lockdown } from "./checks/lockdown.ts";
import { kernelModule } from "./checks/module.ts";
import { nodeVersion } from "./checks/node-version.ts";
import { nodes } from "./checks/nodes.ts";
import { override } from "./checks/override.ts";
import { presence } from "./checks/presence.ts";
import { ptx } from "./checks/ptx.ts";
import { slot } from "./checks/slot.ts";
import { state } from "./checks/state.ts";
import { visibleDevices } from "./checks/visible-devices.ts";

/** Every check, in the order in which an operator would go: from the bus up to the state. */
export const CHECKS: readonly Check[] = [
  ...[gpuPresent, presence, bars, link, iommu],
  ...[override, dieDriver, kernelModule, driverVersion, nodes],
  ...[libcuda, driverStart, ptx, visibleDevices],
  ...[slot, holders, lockdown, debugfs],
  ...[bringUp, kernelLog, nodeVersion, limits, state, access],
];
