export { simulateMany, type BatchOptions, type BatchReport } from "./batch.ts";
export { DEFAULT_SCENARIO } from "./default-scenario.ts";
export { MUTATIONS, type Mutation } from "./mutation.ts";
export { machineInRealTime } from "./real-time.ts";
export { parseScenario } from "./scenario-parse.ts";
export {
  SIM_OPERATIONS,
  type SimOperation,
  type SimScenario,
  type SimScriptStep,
  type SimWorkload,
} from "./scenario.ts";
export { simulate, type SimReport, type SimulationOptions } from "./simulation.ts";
