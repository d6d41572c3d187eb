/** What `holdfast sim` plays unless one says otherwise: two K80s, and everything goes wrong. */
import {
  SIM_FAULTS,
  SIM_MACHINE,
  type SimFault,
  type SimFaultName,
  type SimStepName,
} from "../board/mod.ts";
import type { SimScenario } from "./scenario.ts";

/** How often each fault strikes where it may, so that a run has a few and still gets work done. */
const PROBABILITY: Readonly<Record<SimFaultName, number>> = {
  refused: 0.02,
  hang: 0.01,
  host_reset: 0.005,
  off_bus: 0.01,
  slot_lost: 0.01,
  xid: 0.02,
  out_of_memory: 0.005,
  no_ordinal: 0.02,
  wrong_answer: 0.005,
  endless: 0.003,
  host_killed: 0.005,
  owner_killed: 0.005,
};

/** Faults that last clear by themselves after a while, drawn from this. */
const CLEARS_AFTER_MS = [100, 20_000] as const;

/** Errors of applications, which condemn no die, and of memory, which do. */
const XIDS: readonly number[] = [13, 31, 43, 45, 48, 63, 74, 94, 95];

/** Each fault at each step at which it may strike. */
const everyFault = (): readonly SimFault[] =>
  (Object.keys(SIM_FAULTS) as SimFaultName[]).flatMap((kind) => {
    const { steps }: { readonly steps: readonly SimStepName[] } = SIM_FAULTS[kind];
    return steps.map((step, at) => ({
      ...{ kind, step, die: null, nth: null, probability: PROBABILITY[kind], xids: XIDS },
      clearsAfterMs: CLEARS_AFTER_MS,
      silent: at % 2 === 1,
    }));
  });

export const DEFAULT_SCENARIO: SimScenario = {
  name: "two K80s, everything goes wrong",
  machine: { ...SIM_MACHINE, boards: 2, faults: everyFault() },
  window: { minimumHoldMs: 5, maximumWaitMs: 1000 },
  workElements: 64,
  workTimeoutMs: 2000,
  restartMs: [100, 1000],
  workload: {
    clients: 3,
    operations: 12,
    gapMs: [0, 200],
    mix: {
      ...{ online: 3, probe: 1, swap: 2, work: 6, read: 6, run: 3, count: 0.5, status: 1 },
      ...{ retry: 1, drain: 0.2, park: 0.2, resume: 3 },
    },
    script: [],
  },
};
