import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { hindrance, ourDies } from "./wanted.ts";

/** Whether the kernel module is loaded, or can be: behind a window the bring-up loads it. */
export const kernelModule: Check = {
  id: "module",
  title: "the nvidia module is loaded, or behind a window waits for us; built for this kernel",
  scope: "gpu",
  findings: ["module-stuck", "module-not-built", "module-not-loaded", "module-at-boot"],
  run: (facts) => {
    if (ourDies(facts).length === 0) return [];
    const { state, isBuilt } = facts.driver;
    if (state === "coming" || state === "going") return [stuck(state)];
    const isWindowed = facts.slotKind === "bar_swap";
    if (state === null && isBuilt === false) return [notBuilt(facts)];
    if (isWindowed) return facts.driver.isBlacklisted ? [] : [atBoot];
    return state === null ? [notLoaded(facts)] : [];
  },
};

const stuck = (state: string): Finding => ({
  id: "module-stuck",
  severity: "problem",
  subject: "nvidia",
  message:
    state === "coming"
      ? "the module is being loaded: its probe of some die is at work, or hangs"
      : "the module is being unloaded, and something of it is still in use",
  mend: "look again in a minute; if it stays so, only a restart helps",
  command: "cat /sys/module/nvidia/initstate; ps -eo pid,stat,wchan:32,args | grep -i modprobe",
});

const atBoot: Finding = {
  id: "module-at-boot",
  severity: "warning",
  subject: "nvidia",
  message:
    "nothing keeps the driver from loading at boot, when it would probe dies that are not " +
    "in the window",
  mend: "blacklist it: Holdfast loads it itself, once, when a die is in the window",
  command: "echo 'blacklist nvidia' > /etc/modprobe.d/holdfast.conf",
};

const notBuilt = (facts: Facts): Finding => ({
  id: "module-not-built",
  severity: hindrance(facts),
  subject: `/lib/modules/${facts.runtime.kernelRelease ?? ""}`,
  message: `there is no nvidia module for the running kernel ${facts.runtime.kernelRelease ?? ""}`,
  mend: "build it for this kernel; R470 does not build on kernels much younger than it",
  command: "dkms status; dkms autoinstall",
});

const notLoaded = (facts: Facts): Finding => ({
  id: "module-not-loaded",
  severity: hindrance(facts),
  subject: "nvidia",
  message: facts.runtime.isContainer
    ? "the host's kernel has no nvidia module loaded, and a container cannot load it"
    : "the nvidia kernel module is not loaded",
  mend: "load it, on the host; if it is blacklisted, look for that in /etc/modprobe.d",
  command: "modprobe nvidia && modprobe nvidia-uvm",
});
