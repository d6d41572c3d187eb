/** Reads a scenario from JSON. Everything has a default, so that a file says what is special. */
import type { Result } from "../base/mod.ts";
import {
  SIM_FAULTS,
  SIM_LATENCIES,
  SIM_MACHINE,
  SIM_STEPS,
  type SimFault,
  type SimFaultName,
  type SimLatencies,
  type SimLatency,
  type SimMachineSpec,
  type SimStepName,
} from "../board/mod.ts";
import { DEFAULT_WINDOW_POLICY, DIES_MAX, type WindowPolicy } from "../owner/mod.ts";
import { DEFAULT_SCENARIO } from "./default-scenario.ts";
import { readJson, type JsonReader } from "./json-reader.ts";
import {
  SIM_OPERATIONS,
  type SimScenario,
  type SimScriptStep,
  type SimWorkload,
} from "./scenario.ts";

/** An hour of virtual time: longer ones are mistakes. */
const LATENCY_MS_MAX = 3_600_000;

/** More would make a run of minutes. */
const CLIENTS_MAX = 64;
const OPERATIONS_MAX = 10_000;

/** As large as the owner's own work. */
const WORK_ELEMENTS_MAX = 1024 * 1024;

/** 1 TiB. */
const MEMORY_BYTES_MAX = 2 ** 40;

/** Xids are below this, and will be for some time. */
const XID_MAX = 999;

/** The Xids of a fault that names none: a double-bit ECC error, contained ones and others. */
const ECC_XIDS: readonly number[] = [48, 94, 95];

const SCENARIO_FIELDS = [
  ...["name", "about", "boards", "diesPerBoard", "memoryBytes", "latencyMs", "counts"],
  ...[
    "stepTimeoutMs",
    "faults",
    "window",
    "workElements",
    "workTimeoutMs",
    "restartMs",
    "workload",
  ],
] as const satisfies readonly string[];

const FAULT_FIELDS = [
  ...["kind", "step", "die", "nth", "probability", "clearsAfterMs", "xids", "silent"],
] as const satisfies readonly string[];

type Fields = Readonly<Record<(typeof SCENARIO_FIELDS)[number], JsonReader>>;

/** The scenario, or one line that says where something is wrong and what to write instead. */
export const parseScenario = (text: string): Result<SimScenario, string> =>
  readJson(text, readScenario);

const latency = (reader: JsonReader): SimLatency => reader.range(LATENCY_MS_MAX);

function readScenario(reader: JsonReader): SimScenario {
  const fields = reader.fields(SCENARIO_FIELDS);
  const base = DEFAULT_SCENARIO;
  // What a file has to say beside all this is for who reads it.
  fields.about.or("", (about) => about.text());
  const machine = readMachine(fields);
  return {
    name: fields.name.or("unnamed", (name) => name.text()),
    machine,
    window: fields.window.or(DEFAULT_WINDOW_POLICY, readWindow),
    workElements: fields.workElements.or(base.workElements, (n) => n.whole(1, WORK_ELEMENTS_MAX)),
    workTimeoutMs: fields.workTimeoutMs.or(base.workTimeoutMs, (ms) => ms.whole(1, LATENCY_MS_MAX)),
    restartMs: fields.restartMs.or(base.restartMs, latency),
    workload: fields.workload.or(base.workload, (workload) => readWorkload(workload, machine)),
  };
}

function readMachine(fields: Fields): SimMachineSpec {
  const base = SIM_MACHINE;
  const boards = fields.boards.or(base.boards, (count) => count.whole(1, DIES_MAX));
  const diesMax = Math.floor(DIES_MAX / boards);
  const diesPerBoard = fields.diesPerBoard.or(base.diesPerBoard, (n) => n.whole(1, diesMax));
  return {
    boards,
    diesPerBoard,
    memoryBytes: fields.memoryBytes.or(base.memoryBytes, (n) => n.whole(1, MEMORY_BYTES_MAX)),
    latencyMs: fields.latencyMs.or(base.latencyMs, readLatencies),
    counts: fields.counts.or(base.counts, (how) => how.oneOf(["once", "anew"])),
    stepTimeoutMs: fields.stepTimeoutMs.or(base.stepTimeoutMs, (ms) => ms.whole(1, LATENCY_MS_MAX)),
    faults: fields.faults.or([], (list) =>
      list.items().map((fault) => readFault(fault, boards * diesPerBoard)),
    ),
  };
}

function readLatencies(reader: JsonReader): SimLatencies {
  const fields = reader.fields(SIM_STEPS);
  const entries = SIM_STEPS.map((step) => [step, fields[step].or(SIM_LATENCIES[step], latency)]);
  return Object.fromEntries(entries) as Record<SimStepName, SimLatency>;
}

function readWindow(reader: JsonReader): WindowPolicy {
  const { minimumHoldMs, maximumWaitMs } = reader.fields(["minimumHoldMs", "maximumWaitMs"]);
  const base = DEFAULT_WINDOW_POLICY;
  return {
    minimumHoldMs: minimumHoldMs.or(base.minimumHoldMs, (ms) => ms.number(0, LATENCY_MS_MAX)),
    maximumWaitMs: maximumWaitMs.or(base.maximumWaitMs, (ms) => ms.number(0, LATENCY_MS_MAX)),
  };
}

function readFault(reader: JsonReader, dies: number): SimFault {
  const fields = reader.fields(FAULT_FIELDS);
  const kind = fields.kind.oneOf(Object.keys(SIM_FAULTS) as SimFaultName[]);
  const { steps }: { readonly steps: readonly SimStepName[] } = SIM_FAULTS[kind];
  const [usual = "kernel"] = steps;
  const { nth, probability } = fields;
  if (!nth.isMissing && !probability.isMissing)
    probability.complain("leave it out where nth says which time it is");
  return {
    kind,
    step: fields.step.or(usual, (step) => step.oneOf(steps)),
    die: fields.die.or(null, (die) => die.whole(0, dies - 1)),
    nth: probability.isMissing ? nth.or(1, (n) => n.whole(1, OPERATIONS_MAX)) : null,
    probability: probability.or(0, (p) => p.number(0, 1)),
    clearsAfterMs: fields.clearsAfterMs.or(null, latency),
    xids: fields.xids.or(ECC_XIDS, readXids),
    silent: fields.silent.or(false, (silent) => silent.flag()),
  };
}

function readXids(reader: JsonReader): readonly number[] {
  const xids = reader.items().map((xid) => xid.whole(1, XID_MAX));
  return xids.length > 0 ? xids : reader.complain("name one Xid at least");
}

function readWorkload(reader: JsonReader, { boards, diesPerBoard }: SimMachineSpec): SimWorkload {
  const fields = reader.fields(["clients", "operations", "gapMs", "mix", "script"]);
  const base = DEFAULT_SCENARIO.workload;
  const dies = boards * diesPerBoard;
  return {
    clients: fields.clients.or(base.clients, (count) => count.whole(0, CLIENTS_MAX)),
    operations: fields.operations.or(base.operations, (count) => count.whole(0, OPERATIONS_MAX)),
    gapMs: fields.gapMs.or(base.gapMs, latency),
    mix: fields.mix.or(base.mix, readMix),
    script: fields.script.or([], (list) => list.items().map((step) => readStep(step, dies))),
  };
}

function readMix(reader: JsonReader): SimWorkload["mix"] {
  const fields = reader.fields(SIM_OPERATIONS);
  const given = SIM_OPERATIONS.filter((operation) => !fields[operation].isMissing);
  const weights = given.map((operation) => [operation, fields[operation].number(0, 1e6)] as const);
  if (weights.every(([, weight]) => weight === 0))
    reader.complain("give one operation a weight above 0 at least");
  return Object.fromEntries(weights);
}

function readStep(reader: JsonReader, dies: number): SimScriptStep {
  const fields = reader.fields(["atMs", "operation", "die"]);
  return {
    atMs: fields.atMs.or(0, (ms) => ms.number(0, LATENCY_MS_MAX)),
    operation: fields.operation.oneOf(SIM_OPERATIONS),
    die: fields.die.or(0, (die) => die.whole(0, dies - 1)),
  };
}
