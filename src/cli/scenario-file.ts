/** Reads a scenario of the simulator from a file. */
import { readFileSync } from "node:fs";
import { err, ok, type Result } from "../base/mod.ts";
import { parseScenario, type SimScenario } from "../sim/mod.ts";

/** The scenario, or one line that names the file and what is wrong in it. */
export function readScenario(path: string): Result<SimScenario, string> {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return err(`the scenario ${path} cannot be read: ${reason}`);
  }
  const scenario = parseScenario(text);
  return scenario.ok ? ok(scenario.value) : err(`the scenario ${path}: ${scenario.error}`);
}
