/** What a simulated machine is, how long its steps take, and what goes wrong with it, as data. */

/** What a simulated machine can be asked to do, in the order of a bring-up. */
export const SIM_STEPS = [
  ...["acquire", "block", "modprobe", "unblock", "bind"],
  ...["initialise", "context", "memory", "kernel", "copy"],
] as const satisfies readonly string[];

export type SimStepName = (typeof SIM_STEPS)[number];

/** Milliseconds; a range is drawn from anew each time. */
export type SimLatency = number | readonly [from: number, to: number];

/** How long each step takes. `memory` is each allocation, `copy` each copy or fill. */
export type SimLatencies = Readonly<Record<SimStepName, SimLatency>>;

/** About what a K80 takes: moves of the window in milliseconds, the driver's first steps longer. */
export const SIM_LATENCIES: SimLatencies = {
  acquire: [1, 4],
  block: 0.5,
  modprobe: [200, 600],
  unblock: 0.5,
  bind: [50, 300],
  initialise: [80, 120],
  context: [80, 200],
  memory: 0.2,
  kernel: [0.1, 25],
  copy: [0.05, 0.5],
};

/** One sort of fault: at which steps it may strike (the first is the usual one), and what it is. */
export type SimFaultSort = {
  readonly steps: readonly SimStepName[];
  /** Whether it lasts until it clears, rather than happening once. */
  readonly lasts: boolean;
  readonly brief: string;
};

const BOARD_STEPS = ["acquire", "block", "modprobe", "unblock", "bind"] as const;
const DEVICE_STEPS = ["initialise", "context", "memory", "kernel", "copy"] as const;

/** Everything that can be made to go wrong. */
export const SIM_FAULTS = {
  refused: { steps: BOARD_STEPS, lasts: false, brief: "the step fails and leaves nothing behind" },
  hang: {
    steps: ["bind", "acquire", "modprobe", "unblock", "block", "initialise", "context"],
    lasts: true,
    brief: "the step does not come back; nor does it for that die until the fault clears",
  },
  host_reset: {
    steps: ["bind", "acquire", "modprobe", "initialise", "context", "kernel"],
    lasts: false,
    brief: "the host starts anew in the middle of the step",
  },
  off_bus: {
    steps: ["kernel", ...BOARD_STEPS, "initialise", "context", "memory", "copy"],
    lasts: true,
    brief: "the die reads all ones; with Xid 79 in the kernel's log, unless `silent`",
  },
  slot_lost: {
    steps: ["kernel", "copy", "context", "memory"],
    lasts: false,
    brief: "the window shows no die any more, until the next acquire",
  },
  xid: {
    steps: ["kernel", "copy"],
    lasts: false,
    brief: "the kernel's log has the Xid of `xid`; one that concerns the die loses its context",
  },
  out_of_memory: {
    steps: ["memory", "context"],
    lasts: true,
    brief: "the die has no memory left for it",
  },
  no_ordinal: {
    steps: ["bind", "modprobe", "initialise"],
    lasts: true,
    brief: "the driver has the die and does not count it",
  },
  wrong_answer: { steps: ["kernel"], lasts: true, brief: "kernels on the die write a wrong word" },
  endless: { steps: ["kernel"], lasts: false, brief: "the kernel never ends" },
  host_killed: {
    steps: [...DEVICE_STEPS, ...BOARD_STEPS],
    lasts: false,
    brief: "the die host dies",
  },
  owner_killed: {
    steps: [...BOARD_STEPS, ...DEVICE_STEPS],
    lasts: false,
    brief: "the owner dies by SIGKILL and another one is started",
  },
} as const satisfies Readonly<Record<string, SimFaultSort>>;

export type SimFaultName = keyof typeof SIM_FAULTS;

/** A fault that is to come. Without `nth` and `probability` it strikes the first time. */
export type SimFault = {
  readonly kind: SimFaultName;
  readonly step: SimStepName;
  /** Null: whichever die takes the step. */
  readonly die: number | null;
  /** Which time that the step is taken, from 1; null where `probability` decides each time. */
  readonly nth: number | null;
  readonly probability: number;
  /** How long one that lasts stays; null: until all faults are cleared. */
  readonly clearsAfterMs: SimLatency | null;
  /** Of `xid`: the numbers of which one is drawn. */
  readonly xids: readonly number[];
  /** Of `off_bus`: the driver does not notice. */
  readonly silent: boolean;
};

/** A machine: boards with one window each, and as many dies on each of them. */
export type SimMachineSpec = {
  readonly boards: number;
  readonly diesPerBoard: number;
  readonly memoryBytes: number;
  readonly latencyMs: SimLatencies;
  /** Whether a process counts the driver's devices once, as CUDA does, or anew each time. */
  readonly counts: "once" | "anew";
  /** After this long a step that does not come back is given up. */
  readonly stepTimeoutMs: number;
  readonly faults: readonly SimFault[];
};

/** Long for any step that comes back at all. */
const STEP_TIMEOUT_MS = 10_000;

/** Two dies behind one window, on which nothing goes wrong. */
export const SIM_MACHINE: SimMachineSpec = {
  boards: 1,
  diesPerBoard: 2,
  memoryBytes: 12 * 2 ** 30,
  latencyMs: SIM_LATENCIES,
  counts: "once",
  stepTimeoutMs: STEP_TIMEOUT_MS,
  faults: [],
};
