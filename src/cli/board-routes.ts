/** Flags and help of the commands that are about the board itself. */
import { buildCommand, type Command } from "@stricli/core";
import type { BRING_UP_STEPS } from "../owner/mod.ts";
import type { CliContext } from "./context.ts";
import { fit } from "./fit.ts";
import { accepted, OUTPUT_FLAGS, OWNER_FLAGS } from "./flags.ts";
import type { LadderFlags } from "./ladder-command.ts";
import { parseWhole } from "./size.ts";

/** The owner's rungs, held equal by their type: to load the owner costs --help 40 ms. */
const RUNGS: typeof BRING_UP_STEPS = [
  ...(["discover", "acquire", "block-all-except", "load-driver", "unblock", "bind"] as const),
  ...(["initialise", "ordinals", "context", "module", "buffers", "probe"] as const),
  ...(["work", "read", "swap"] as const),
];

/** Ten minutes before a rung is more than anybody watches. */
const PAUSE_MS_MAX = 600_000;

const ladder: Command<CliContext> = buildCommand<LadderFlags, [], CliContext>({
  docs: {
    brief: "bring every die up rung by rung, let it work, and say what each rung did",
    fullDescription: [
      "Climbs from the first die in the slot to the last one's result, then swaps back and forth.",
      "Each rung is written to the journal, flushed, and to stderr before it runs; stdout gets the",
      "table. What an earlier run has done is found and skipped. A rung in which the machine was",
      "reset, or that hangs, is not climbed again without --retry.",
    ].join("\n"),
  },
  parameters: {
    flags: {
      until: {
        kind: "enum",
        values: RUNGS,
        optional: true,
        brief: "stop after this rung; a later run goes on from there",
      },
      pauseMs: {
        kind: "parsed",
        parse: (text: string): number => accepted(parseWhole(text, 0, PAUSE_MS_MAX)),
        default: "0",
        placeholder: "MS",
        brief: "wait so long before each rung, for logs that are read from afar",
      },
      retry: {
        kind: "boolean",
        default: false,
        withNegated: false,
        brief: "climb rungs again in which the machine was reset, or that hang",
      },
      ...OWNER_FLAGS,
      json: OUTPUT_FLAGS.json,
    },
  },
  loader: async () => fit((await import("./ladder-command.ts")).ladderCommand),
});

/** By the name that the parser looks up. */
export const BOARD_COMMANDS: Readonly<Record<string, Command<CliContext>>> = { ladder };
