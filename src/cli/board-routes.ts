/**
 * Flags and help of the commands about boards: what stands in the way, and how to bring them up.
 */
import { buildCommand, type Command } from "@stricli/core";
import type { CliContext } from "./context.ts";
import type { DoctorFlags } from "./doctor-command.ts";
import { fit } from "./fit.ts";
import { OUTPUT_FLAGS, OWNER_FLAGS } from "./flags.ts";
import { SLOTS } from "./open-owner.ts";

const doctor: Command<CliContext> = buildCommand<DoctorFlags, [], CliContext>({
  docs: {
    brief: "check what stands between this machine and running, and name the mend",
    fullDescription: [
      "Looks at the dies, their BARs and driver, libcuda, device nodes, the bar_swap slot, limits,",
      "the kernel's log and what an interrupted bring-up has left, and changes nothing. Each " +
        "finding",
      "says what is wrong, the mend, and a line to type where one does it. stdout gets the report.",
      "Exit codes: 0 nothing stands in the way, 1 a problem does, 3 a GPU was asked for (--backend",
      "cuda, --slot bar_swap) and there is none. Without a GPU the software GPU is used: all " +
        "is well.",
    ].join("\n"),
  },
  parameters: {
    flags: {
      slot: {
        kind: "enum",
        values: SLOTS,
        optional: true,
        brief: "how the dies will be reached (default: bar_swap where its device is, else direct)",
      },
      backend: OWNER_FLAGS.backend,
      stateDir: OWNER_FLAGS.stateDir,
      root: {
        kind: "parsed",
        parse: (text: string) => text,
        default: "/",
        placeholder: "DIR",
        brief: "look at a recorded tree of /sys, /proc and /dev instead of this machine",
      },
      json: OUTPUT_FLAGS.json,
    },
  },
  loader: async () => fit((await import("./doctor-command.ts")).doctorCommand),
});

/** By the name that the parser looks up. */
export const BOARD_COMMANDS: Readonly<Record<string, Command<CliContext>>> = { doctor };
