/** A scenario: a simulated machine, how its owner is set up, and what its clients ask for. */
import type { SimLatency, SimMachineSpec } from "../board/mod.ts";
import type { WindowPolicy } from "../owner/mod.ts";

/** What a client may ask of the owner, or do to the machine. */
export const SIM_OPERATIONS = [
  ...["online", "probe", "swap", "work", "read", "run", "count", "discover", "status"],
  ...["retry", "drain", "park", "resume", "kill_host", "kill_owner", "reset_host"],
] as const satisfies readonly string[];

export type SimOperation = (typeof SIM_OPERATIONS)[number];

/** One operation at a time of its own, before the clients begin or beside them. */
export type SimScriptStep = {
  readonly atMs: number;
  readonly operation: SimOperation;
  readonly die: number;
};

export type SimWorkload = {
  /** Clients, each of which does one thing after another. */
  readonly clients: number;
  /** How many things each of them does. */
  readonly operations: number;
  /** Pause before each. */
  readonly gapMs: SimLatency;
  /** How often each operation is chosen, in relation to the others; what is left out never is. */
  readonly mix: Readonly<Partial<Record<SimOperation, number>>>;
  readonly script: readonly SimScriptStep[];
};

export type SimScenario = {
  readonly name: string;
  readonly machine: SimMachineSpec;
  readonly window: WindowPolicy;
  /** Elements of the owner's standing work: small, since what is simulated is not its speed. */
  readonly workElements: number;
  /** How long a kernel may run. */
  readonly workTimeoutMs: number;
  /** How long after its end an owner that was killed is started again. */
  readonly restartMs: SimLatency;
  readonly workload: SimWorkload;
};
