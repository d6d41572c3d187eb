/** `holdfast evidence`: what this machine does, in six files that others can read. */
import { accessSync, constants, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileCall, FileError, makeFolder } from "../../base/mod.ts";
import { verdict } from "../trial/check-report.ts";
import { ownCommand, runProgram } from "./child-program.ts";
import type { CommandFunction } from "../context.ts";
import { makeDevice } from "./evidence-device.ts";
import {
  ownerWords,
  type Evidence,
  type EvidenceFlags,
  type EvidenceStage,
  type EvidenceStep,
} from "./evidence-step.ts";
import { makeTransport } from "./evidence-transport.ts";
import { makeUtilisation } from "./evidence-utilisation.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { hostFacts } from "./host-facts.ts";
import { complain, exitOfSignal } from "../owner-session.ts";
import { withScratchFolder } from "../scratch-folder.ts";
import type { Surroundings } from "../surroundings.ts";

/** Evidence is what a command of ours printed; it passes where that exited with 0. */
const printed =
  (wordsOf: (flags: EvidenceFlags) => readonly string[]) =>
  async ({ surroundings, flags, scratch }: EvidenceStage): Promise<Evidence> => {
    const all = [...wordsOf(flags), ...ownerWords(flags)];
    const run = await runProgram(surroundings, ownCommand(surroundings, all), scratch);
    const text = `${run?.output ?? ""}(exit ${String(run?.code ?? "by a signal")})`;
    const code = run?.code ?? null;
    return { command: `holdfast ${all.join(" ")}`, text, pass: code === EXIT.ok, code };
  };

const STEPS: readonly EvidenceStep[] = [
  { file: "01-self-test.txt", make: printed(() => ["self-test"]) },
  { file: "02-utilisation.txt", make: makeUtilisation },
  {
    file: "03-timings.txt",
    make: printed(({ roundMs }) => ["bench", "--round-ms", String(roundMs)]),
  },
  { file: "04-device.txt", make: makeDevice },
  { file: "05-mutation.txt", make: printed(() => ["mutation-test"]) },
  { file: "06-daemon-transport.txt", make: makeTransport },
];

export const evidenceCommand: CommandFunction<EvidenceFlags> = async (surroundings, flags) => {
  const folder = resolve(surroundings.workingDirectory, flags.dir);
  try {
    makeFolder(folder);
    fileCall("write to", folder, () => accessSync(folder, constants.W_OK));
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    complain(surroundings, `${error.message}; --dir names another folder`);
    return EXIT.badUsage;
  }
  const forget = surroundings.onSignal((signal) => surroundings.exit(exitOfSignal(signal)));
  return withScratchFolder(surroundings, async (scratch) => {
    let isPass = true;
    for (const { file, make } of STEPS) {
      const evidence = await make({ surroundings, flags, scratch });
      // Where there is nothing to show, older files that show something stay.
      const hindrance = hindranceOf(evidence);
      if (hindrance !== null) {
        surroundings.errors.write(`${evidence.text}\n`);
        return hindrance;
      }
      writeFileSync(join(folder, file), `${headOf(surroundings, evidence)}\n${evidence.text}\n`);
      isPass &&= evidence.pass;
      surroundings.output.write(`${verdict(evidence.pass)} ${join(flags.dir, file)}\n`);
    }
    return isPass ? EXIT.ok : EXIT.checkFailed;
  }).finally(forget);
};

/** The code of a command that could not begin, for want of a device or a usable flag. */
function hindranceOf({ code }: Evidence): ExitCode | null {
  if (code === EXIT.noDevice) return EXIT.noDevice;
  return code === EXIT.badUsage ? EXIT.badUsage : null;
}

/** What made the file, when, and on what. */
function headOf({ now, version }: Surroundings, { command }: Evidence): string {
  const date = now().toISOString().replace("T", " ").slice(0, 16);
  return [`$ ${command}`, `date  ${date} UTC`, ...hostFacts(version()), ""].join("\n");
}
