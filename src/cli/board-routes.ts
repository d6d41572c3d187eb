/** Flags and help of the commands that are about the board itself. */
import { buildCommand, type Command } from "@stricli/core";
import type { BRING_UP_STEPS } from "../owner/mod.ts";
import type { CliContext } from "./context.ts";
import type { DoctorFlags } from "./doctor-command.ts";
import { fit } from "./fit.ts";
import { accepted, OUTPUT_FLAGS, OWNER_FLAGS } from "./flags.ts";
import type { LadderFlags } from "./ladder-command.ts";
import type { SimFlags } from "./sim-command.ts";
import { SLOTS } from "./open-owner.ts";
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

const doctor: Command<CliContext> = buildCommand<DoctorFlags, [], CliContext>({
  docs: {
    brief: "check what stands between this machine and running, and name the mend",
    fullDescription: [
      "Looks at the dies, their BARs and driver, libcuda, device nodes, the bar_swap slot, limits,",
      "the kernel's log and what an interrupted bring-up has left. It only looks: no die is woken,",
      "no driver loaded, and with a bar_swap slot the driver is not started either. A finding",
      "says what is wrong, the mend, and a line to type where one does it. stdout gets the report.",
      "Exit codes: 0 nothing stands in the way, 1 a problem does, 3 a GPU was asked for (--backend",
      "cuda, --slot bar_swap) and there is none. Without a GPU all is well: soft serves.",
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

/** Seeds are exact as numbers. */
const SEED_MAX = Number.MAX_SAFE_INTEGER;

/** A day's worth. */
const RUNS_MAX = 10_000_000;

const sim: Command<CliContext> = buildCommand<SimFlags, [], CliContext>({
  docs: {
    brief: "run the owner on a simulated machine with faults, and check its invariants",
    fullDescription: [
      "Plays a scenario in virtual time: boards, dies, latencies, faults, clients. Owner, windows",
      "and die hosts are the real code; board, driver and GPUs are simulated. The same seed gives",
      "the same log. One seed is replayed with its log; with --runs many, and a table. Without",
      "--scenario everything goes wrong on two boards of two dies (docs/SIMULATOR.md).",
      "Exit code 1 where an invariant broke, or a request was never answered.",
    ].join("\n"),
  },
  parameters: {
    flags: {
      scenario: {
        kind: "parsed",
        parse: (text: string) => text,
        optional: true,
        placeholder: "FILE",
        brief: "what is simulated, e.g. examples/scenarios/k80-box.json",
      },
      seed: {
        kind: "parsed",
        parse: (text: string): number => accepted(parseWhole(text, 0, SEED_MAX)),
        default: "0",
        placeholder: "S",
        brief: "which run; the first one with --runs",
      },
      runs: {
        kind: "parsed",
        parse: (text: string): number => accepted(parseWhole(text, 1, RUNS_MAX)),
        optional: true,
        placeholder: "N",
        brief: "run the seeds S to S+N-1 and print a table",
      },
      json: OUTPUT_FLAGS.json,
      verbose: { ...OUTPUT_FLAGS.verbose, brief: "with --json: the log of the run as well" },
    },
  },
  loader: async () => fit((await import("./sim-command.ts")).simCommand),
});

/** By the name that the parser looks up. */
export const BOARD_COMMANDS: Readonly<Record<string, Command<CliContext>>> = {
  doctor,
  ladder,
  sim,
};
