/** The flags of `holdfast bridge`, apart from its code, so that --help loads none of it. */
import type { FlagParametersForType } from "@stricli/core";
import type { VerifyMode } from "../../bridge/mod.ts";
import type { CliContext } from "../context.ts";
import {
  accepted,
  OWNER_FLAGS,
  parseDie,
  TIMEOUT_MS_MAX,
  type OutputFlags,
  type OwnerFlags,
} from "../flags.ts";
import type { OwnerRequest } from "../open-owner.ts";
import { parseSize, parseWhole } from "../size.ts";

export const VERIFY_MODES = [
  "auto",
  "full",
  "sample",
  "none",
] as const satisfies readonly VerifyMode[];

const FAULT_SEED_MAX = 2 ** 32 - 1;

/** Longest pause between polls, one second: more is a mistake in the unit. */
const POLL_US_MAX = 1_000_000;

export type BridgeCommandFlags = OwnerFlags &
  Pick<OutputFlags, "json"> & {
    readonly job: string | undefined;
    readonly in: string | undefined;
    readonly out: string | undefined;
    readonly done: string | undefined;
    readonly modules: string | undefined;
    readonly ram: string | undefined;
    readonly ramLowSize: number | undefined;
    readonly config: string | undefined;
    readonly once: boolean;
    readonly pollUs: number | undefined;
    readonly verify: VerifyMode;
    readonly die: readonly number[] | undefined;
    readonly timeoutMaxMs: number | undefined;
    readonly forgetSeq: boolean;
    readonly fault: NonNullable<OwnerRequest["fault"]> | undefined;
  };

const path = (brief: string, placeholder = "PATH") =>
  ({
    kind: "parsed",
    parse: (text: string) => text,
    optional: true,
    placeholder,
    brief,
  }) as const;

const onOff = (brief: string) =>
  ({ kind: "boolean", default: false, withNegated: false, brief }) as const;

/** `wrong-element:SEED`; the seed's low 32 bits count. */
function parseFault(text: string): NonNullable<OwnerRequest["fault"]> {
  const [, seed] = /^wrong-element:(.*)$/.exec(text) ?? [];
  if (seed === undefined) throw new Error(`'${text}' is no fault; write e.g. wrong-element:1`);
  return { kind: "wrong-element", seed: accepted(parseWhole(seed, 0, FAULT_SEED_MAX)) };
}

/** What serves, where, and how. */
export const BRIDGE_FLAGS: FlagParametersForType<BridgeCommandFlags, CliContext> = {
  job: path("the file that job records come in"),
  in: path("v2: the payload's input"),
  out: path("v2: the payload's output"),
  done: path("the file that done records go to"),
  modules: path("v2: folder of NAME.ptx files that op 256 may launch", "DIR"),
  ram: path("v1: the guest's RAM, a file; jobs name addresses in it"),
  ramLowSize: {
    kind: "parsed",
    parse: (text) => accepted(parseSize(text)),
    optional: true,
    placeholder: "SIZE",
    brief: "v1: RAM below the PCI hole; the rest begins at 4 GiB (default: 2Gi)",
  },
  config: path("several mailboxes, from this file", "FILE"),
  once: onOff("serve one record, and tell by the exit code how it ended"),
  verify: {
    kind: "enum",
    values: VERIFY_MODES,
    default: "auto",
    brief: "how much is compared with the CPU; auto: all up to 1 Mi elements, a sample above",
  },
  die: {
    kind: "parsed",
    parse: parseDie,
    variadic: true,
    optional: true,
    placeholder: "N",
    brief: "a die that may run jobs; again for each (default: all)",
  },
  pollUs: {
    kind: "parsed",
    parse: (text) => accepted(parseWhole(text, 1, POLL_US_MAX)),
    optional: true,
    placeholder: "N",
    brief: "fixed pause between polls (default: short while jobs come, longer while none do)",
  },
  forgetSeq: onOff("begin from no last sequence number, whatever was kept of it"),
  fault: {
    kind: "parsed",
    parse: parseFault,
    optional: true,
    placeholder: "wrong-element:SEED",
    brief: "software GPU: spoils each result of 1 KiB or more, to see that checks catch it",
  },
  json: onOff("print each job line as a JSON object"),
  ...OWNER_FLAGS,
  timeoutMs: {
    ...OWNER_FLAGS.timeoutMs,
    brief: "time that a kernel may run whose record names none",
  },
  timeoutMaxMs: {
    kind: "parsed",
    parse: (text) => accepted(parseWhole(text, 1, TIMEOUT_MS_MAX)),
    optional: true,
    placeholder: "MS",
    brief: "longest time that a record may ask for (default: 10 minutes, or --timeout-ms)",
  },
};

export const BRIDGE_DESCRIPTION = [
  "Serves the mailbox of a guest: takes a job record from a file, runs it on a die, checks the",
  "result, puts it where the guest wants it, writes a done record. Three forms:",
  "  holdfast bridge --job PATH --in PATH --out PATH --done PATH [--modules DIR]   (v2, CUBB2)",
  "  holdfast bridge --job PATH --done PATH --ram PATH [--ram-low-size SIZE]       (v1, CUBB)",
  "  holdfast bridge --config FILE                                                 (several)",
  "The files may be a kernel module's in debugfs or plain ones; none need exist yet. stdout gets",
  "one line for each answered job, stderr what else happens. SIGUSR2 shows the counters. SIGINT,",
  "SIGTERM and SIGHUP end it once running jobs have ended (5 s at most), a second one at once;",
  "dies are left without teardown. With --once it exits with 0 where the record ended ok, 1 where",
  "it ended otherwise or was rejected, 3 where there was no device, 4 where that failed or hung.",
].join("\n");
