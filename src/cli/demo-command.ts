/** `holdfast demo`: what Holdfast does, on one screen and on this machine. */
import type { CommandFunction } from "./context.ts";
import type { DemoFailure, DemoRow, DemoStage } from "./demo-step.ts";
import { DEMO_STEPS } from "./demo-steps.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { OutputFlags, OwnerFlags } from "./flags.ts";
import { complain, withOwner } from "./owner-session.ts";
import { withScratchFolder } from "./scratch-folder.ts";
import { tableText } from "./table.ts";

const INTRODUCTION = [
  "Holdfast is the process that holds your GPUs. It keeps each die's context resident, moves",
  "one window between dies that share it, and checks every answer against the CPU.",
];

/** Two dies are shown even where one GPU has to stand for both. */
const DEMO_DIES = 2;

export const demoCommand: CommandFunction<OwnerFlags & OutputFlags> = (surroundings, flags) =>
  withScratchFolder(surroundings, (folder) => {
    const request = { ...flags, dies: flags.dies ?? DEMO_DIES };
    return withOwner(surroundings, request, async ({ owner, basePayload }) => {
      const played = await play({ owner, basePayload, folder, timeoutMs: flags.timeoutMs });
      const isPass = played.failure === null && played.rows.every((row) => row.pass !== false);
      surroundings.output.write((flags.json ? jsonOf : textOf)(played, isPass));
      if (played.failure !== null) {
        complain(surroundings, `${played.failure.step}: ${played.failure.message}`);
      }
      return exitCodeOf(played, isPass);
    });
  });

type Played = { readonly rows: readonly DemoRow[]; readonly failure: DemoFailure | null };

/** Plays the steps until one cannot be done. */
async function play(stage: DemoStage): Promise<Played> {
  const rows: DemoRow[] = [];
  for (const step of DEMO_STEPS) {
    const row = await step(stage);
    if (!row.ok) return { rows, failure: row.error };
    rows.push(row.value);
  }
  return { rows, failure: null };
}

function textOf({ rows, failure }: Played, isPass: boolean): string {
  const shown: DemoRow[] = [...rows];
  // Why is told on stderr: it can be long, and would tear the table apart.
  if (failure !== null) shown.push({ step: failure.step, seen: "could not be done", pass: false });
  const table = tableText(
    ["step", "what was seen", "check"],
    shown.map(({ step, seen, pass }) => [step, seen, pass === null ? "" : verdict(pass)]),
  );
  return `${INTRODUCTION.join("\n")}\n\n${table}\n${verdict(isPass)}\n`;
}

function jsonOf({ rows, failure }: Played, isPass: boolean): string {
  return `${JSON.stringify({ pass: isPass, steps: rows, failure })}\n`;
}

const verdict = (pass: boolean): string => (pass ? "PASS" : "FAIL");

function exitCodeOf({ failure }: Played, isPass: boolean): ExitCode {
  if (failure !== null) return failure.isAbsent ? EXIT.noDevice : EXIT.deviceFault;
  return isPass ? EXIT.ok : EXIT.checkFailed;
}
