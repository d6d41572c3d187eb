/** Flags and help of the bridge and of the commands that try it. */
import { buildCommand, type Command, type FlagParametersForType } from "@stricli/core";
import type { BenchFlags } from "./bench/bench-command.ts";
import {
  BRIDGE_DESCRIPTION,
  BRIDGE_FLAGS,
  type BridgeCommandFlags,
} from "./bridge/bridge-flags.ts";
import type { CliContext } from "./context.ts";
import type { EvidenceFlags } from "./evidence/evidence-step.ts";
import { fit } from "./fit.ts";
import { accepted, OUTPUT_FLAGS, OWNER_FLAGS, parseDie } from "./flags.ts";
import type { SelfTestFlags } from "./self-test/self-test-command.ts";
import { parseWhole } from "./size.ts";
import type { TrialFlags } from "./trial/bridge-trial.ts";

const TRIAL_FLAGS: FlagParametersForType<TrialFlags, CliContext> = {
  dir: {
    kind: "parsed",
    parse: (text) => text,
    optional: true,
    placeholder: "DIR",
    brief: "where a folder for the files is made, and removed again (default: the temporary one)",
  },
  ...OWNER_FLAGS,
  ...OUTPUT_FLAGS,
};

const SELF_TEST_FLAGS: FlagParametersForType<SelfTestFlags, CliContext> = {
  die: {
    kind: "parsed",
    parse: parseDie,
    default: "0",
    placeholder: "N",
    brief: "die to try, 0 to 31",
  },
  ...TRIAL_FLAGS,
};

const bridge: Command<CliContext> = buildCommand<BridgeCommandFlags, [], CliContext>({
  docs: {
    brief: "run what a guest puts into its mailbox, and answer with proof",
    fullDescription: BRIDGE_DESCRIPTION,
  },
  parameters: { flags: BRIDGE_FLAGS },
  loader: async () => fit((await import("./bridge/bridge-command.ts")).bridgeCommand),
});

const selfTest: Command<CliContext> = buildCommand<SelfTestFlags, [], CliContext>({
  docs: {
    brief: "try the bridge of both protocols end to end; ends with PASS",
    fullDescription: [
      "Serves a v1 mailbox over a sparse 4 GiB file that stands for a guest's RAM, and a v2",
      "mailbox over plain files, and posts right and wrong records to both. stdout gets a line for",
      "each check and for each answered job, a table, and PASS or FAIL. Its files are its own.",
    ].join("\n"),
  },
  parameters: { flags: SELF_TEST_FLAGS },
  loader: async () => fit((await import("./self-test/self-test-command.ts")).selfTestCommand),
});

const mutationTest: Command<CliContext> = buildCommand<SelfTestFlags, [], CliContext>({
  docs: {
    brief: "prove that the checks can fail: a kernel that is wrong on purpose must be seen",
    fullDescription: [
      "Runs op 2 and op 3, its mutated twin, on the same operands through the bridge. PASS where",
      "op 3 was found wrong in every element and op 2 in none.",
    ].join("\n"),
  },
  parameters: { flags: SELF_TEST_FLAGS },
  loader: async () =>
    fit((await import("./self-test/mutation-test-command.ts")).mutationTestCommand),
});

/** A bound for --big-iters: a day of them on any machine. */
const BIG_ITERS_MAX = 1_000_000;

/** An hour a round: more is a mistake in the unit. */
const ROUND_MS_MAX = 3_600_000;

const ROUND_MS = {
  kind: "parsed",
  parse: (text: string): number => accepted(parseWhole(text, 1, ROUND_MS_MAX)),
  default: "4000",
  placeholder: "MS",
  brief: "how long each of the bench's five rounds lasts",
} as const;

const BIG_ITERS = {
  kind: "parsed",
  parse: (text: string): number => accepted(parseWhole(text, 1, BIG_ITERS_MAX)),
  placeholder: "N",
} as const;

const bench: Command<CliContext> = buildCommand<BenchFlags, [], CliContext>({
  docs: {
    brief: "measure device times, latency and throughput of the bridge",
    fullDescription: [
      "Runs vadd jobs of three sizes through a bridge in this process, with producers on threads",
      "of their own. stdout gets the tables, stderr the progress. It takes half a minute.",
    ].join("\n"),
  },
  parameters: {
    flags: {
      bigIters: {
        ...BIG_ITERS,
        optional: true,
        brief: "afterwards keep the device busy with N jobs of 2^24 elements",
      },
      roundMs: ROUND_MS,
      ...TRIAL_FLAGS,
    },
  },
  loader: async () => fit((await import("./bench/bench-command.ts")).benchCommand),
});

const evidence: Command<CliContext> = buildCommand<EvidenceFlags, [], CliContext>({
  docs: {
    brief: "write down what this machine does: six files, for others to read",
    fullDescription: [
      "Runs the self-test, a utilisation stress, the bench, the mutation test and a daemon of its",
      "own, and writes what they did into six files, each headed by its command, the date and the",
      "machine.",
    ].join("\n"),
  },
  parameters: {
    flags: {
      dir: {
        kind: "parsed",
        parse: (text) => text,
        default: "evidence",
        placeholder: "DIR",
        brief: "folder for the files; made where it is missing",
      },
      bigIters: {
        ...BIG_ITERS,
        default: "200",
        brief: "jobs of 2^24 elements in the stress, which ends after 20 s at most",
      },
      roundMs: ROUND_MS,
      ...OWNER_FLAGS,
    },
  },
  loader: async () => fit((await import("./evidence/evidence-command.ts")).evidenceCommand),
});

/** By the name that the parser looks up: `self-test` and `selfTest` are one. */
export const BRIDGE_COMMANDS: Readonly<Record<string, Command<CliContext>>> = {
  bridge,
  selfTest,
  mutationTest,
  bench,
  evidence,
};
