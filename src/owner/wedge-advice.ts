/** What each rung of the bring-up does, and what to try where it came to no good end. */
import { describeStep, type BringUpStep } from "./journal.ts";

/**
 * How a rung ended badly. `host_reset`: the machine was started anew in it. `hung`: it did not come
 * back, and the process that took it may still be stuck. `lost`: the die or the slot went with it.
 * `failed`: it was refused. `killed`: the owner ended in it. `running`: another owner is at it.
 */
export type RungTrouble = "host_reset" | "hung" | "lost" | "failed" | "killed" | "running";

type Advice = {
  /** Where the machine went down, or the rung does not come back. */
  readonly wedged: string;
  readonly failed: string;
};

const DRIVER_LOG = "read the driver's lines in 'dmesg' (NVRM)";

const ADVICE: Readonly<Record<BringUpStep, Advice>> = {
  discover: {
    wedged:
      "run 'lspci -d 10de:' by itself; a board whose PCI config space hangs is broken or loose",
    failed: "check that the dies show in 'lspci -d 10de:' and that a driver or backend is there",
  },
  acquire: {
    wedged:
      "power the machine off, not only down, so that the slot is reset; then acquire one die " +
      "alone: 'holdfast ladder --until acquire --retry'",
    failed:
      "check who holds /dev/bar_swap ('fuser -v /dev/bar_swap') and the slot driver's lines in " +
      "'dmesg'",
  },
  "block-all-except": {
    wedged: "a write to driver_override does not hang by itself: look for a wedged bus in 'dmesg'",
    failed: "run as root; a driver_override that another program set must be cleared by it",
  },
  "load-driver": {
    wedged:
      "keep nvidia from loading at boot (blacklist it), start with every other die blocked, and " +
      "try another driver release; for GK210 that is R470 or older",
    failed: `run as root; ${DRIVER_LOG}: module missing, not signed, or for no such die`,
  },
  unblock: {
    wedged: "look for a wedged bus in 'dmesg'; clear the override by hand before the next try",
    failed: "run as root; see whether the die is still there: 'lspci -d 10de:'",
  },
  bind: {
    wedged:
      "binding a further die while another one is mapped took the machine: try it again " +
      "only after a power cycle, with persistence off, or stay with the dies that came up",
    failed: `${DRIVER_LOG}: BARs without addresses, a die off the bus, or one that does not start`,
  },
  initialise: {
    wedged: `${DRIVER_LOG}; stop nvidia-persistenced, and run 'nvidia-smi' by itself`,
    failed: "check that libcuda fits the loaded driver, and that /dev/nvidia* exist and are yours",
  },
  ordinals: {
    wedged: `${DRIVER_LOG}; run 'nvidia-smi -L' by itself`,
    failed:
      "the driver does not count the die: see whether it is bound and starts ('nvidia-smi -L'), " +
      "and whether CUDA_VISIBLE_DEVICES hides it",
  },
  context: {
    wedged: `a context maps the die's memory: ${DRIVER_LOG}, check BAR sizes and power`,
    failed: "check for memory that others hold ('nvidia-smi') and for exclusive compute mode",
  },
  module: {
    wedged: `${DRIVER_LOG}; where PTX is compiled, processor and memory limits matter`,
    failed: "the driver must take PTX ISA 4.2 for this die; compare versions: 'nvidia-smi'",
  },
  buffers: {
    wedged: `${DRIVER_LOG}; check the memory of the die: 'nvidia-smi -q -d ECC'`,
    failed: "free memory on the die: 'nvidia-smi' shows who has it",
  },
  probe: {
    wedged: `${DRIVER_LOG}; check power and cooling: the first kernel is the first load`,
    failed: "the die computes wrongly or not in time: 'nvidia-smi -q -d ECC,TEMPERATURE'",
  },
  work: {
    wedged: "check power and cooling: this is the first kernel that loads the die",
    failed: `${DRIVER_LOG}; a smaller load: 'run'`,
  },
  read: {
    wedged: `${DRIVER_LOG}: the copy back is the die's first large transfer to the host`,
    failed: "a result that is wrong points to memory or power: 'nvidia-smi -q -d ECC'",
  },
  swap: {
    wedged:
      "the window moved under a die that was in use, or away from a live context: say so to us",
    failed: "check the slot driver's lines in 'dmesg'",
  },
};

/** What to try where this rung ended so: one or two sentences that end with no full stop. */
export function adviceFor(step: BringUpStep, how: RungTrouble): string {
  const { wedged, failed } = ADVICE[step];
  switch (how) {
    case "running":
      return "another owner is at it: wait for it, or end it first";
    case "killed":
      return `only the owner was ended while ${describeStep(step)}: start it again, it climbs on`;
    case "failed":
      return failed;
    case "hung":
    case "lost":
    case "host_reset":
      return wedged;
  }
}
