/** The flags that several commands share. */
import type { FlagParametersForType } from "@stricli/core";
import type { DIES_MAX } from "../owner/mod.ts";
import type { Result } from "../base/mod.ts";
import type { CliContext } from "./context.ts";
import { BACKENDS, SLOTS } from "./open-owner.ts";
import { parseSize, parseWhole } from "./size.ts";
import type { Dim3 } from "../gpu/mod.ts";

/** The owner's limit, held equal by its type: to load the owner costs --help 40 ms. */
const DIES_COUNT_MAX: typeof DIES_MAX = 32;

/** Longest wait for one kernel, one day: a longer one is a mistake. */
export const TIMEOUT_MS_MAX = 86_400_000;

/** Longest hold of a window, and longest wait for one, a minute: a longer one is a mistake. */
const WINDOW_MS_MAX = 60_000;

/** Long for any kernel of ours, and short for who waits at a prompt. */
const TIMEOUT_MS_DEFAULT = 60_000;

export type OwnerFlags = {
  readonly backend: (typeof BACKENDS)[number];
  readonly dies: number | undefined;
  readonly slot: (typeof SLOTS)[number];
  readonly stateDir: string | undefined;
  readonly timeoutMs: number;
  readonly scenario?: string | undefined;
  readonly holdMs: number | undefined;
  readonly waitMs: number | undefined;
};

/** How a command that runs to an end shows what it did. */
export type OutputFlags = { readonly json: boolean; readonly verbose: boolean };

/** Which GPUs, behind which slot, and where state is kept. */
export const OWNER_FLAGS: FlagParametersForType<OwnerFlags, CliContext> = {
  backend: {
    kind: "enum",
    values: BACKENDS,
    default: "auto",
    brief: "GPU backend; auto is cuda where a driver answers, else soft",
  },
  dies: {
    kind: "parsed",
    parse: (text) => accepted(parseWhole(text, 1, DIES_COUNT_MAX)),
    optional: true,
    placeholder: "N",
    brief: `dies, 1 to ${DIES_COUNT_MAX}; more than the devices share them (default: all; soft: 2)`,
  },
  slot: {
    kind: "enum",
    values: SLOTS,
    default: "direct",
    brief: "direct: every die is mapped; bar_swap: one window, by /dev/bar_swap; sim: simulated",
  },
  stateDir: {
    kind: "parsed",
    parse: (text) => text,
    optional: true,
    placeholder: "DIR",
    brief: "where journal and history are kept (default: $XDG_STATE_HOME/holdfast)",
  },
  timeoutMs: {
    kind: "parsed",
    parse: (text) => accepted(parseWhole(text, 1, TIMEOUT_MS_MAX)),
    default: String(TIMEOUT_MS_DEFAULT),
    placeholder: "MS",
    brief: "longest time that a kernel may run; then its die host is replaced",
  },
  scenario: {
    kind: "parsed",
    parse: (text) => text,
    optional: true,
    placeholder: "FILE",
    brief: "with --slot sim: the machine, its latencies and its faults (docs/SIMULATOR.md)",
  },
  // Their defaults are the owner's, which is not loaded for --help.
  holdMs: {
    kind: "parsed",
    parse: (text) => accepted(parseWhole(text, 0, WINDOW_MS_MAX)),
    optional: true,
    placeholder: "MS",
    brief: "behind one window: a die stays in it at least this long (default: 5)",
  },
  waitMs: {
    kind: "parsed",
    parse: (text) => accepted(parseWhole(text, 0, WINDOW_MS_MAX)),
    optional: true,
    placeholder: "MS",
    brief: "... and yields it once others have waited this long (default: 1000)",
  },
};

export const OUTPUT_FLAGS: FlagParametersForType<OutputFlags, CliContext> = {
  json: { kind: "boolean", default: false, withNegated: false, brief: "print JSON" },
  verbose: {
    kind: "boolean",
    default: false,
    withNegated: false,
    brief: "write each bring-up step to stderr",
  },
};

/** `X[,Y[,Z]]`, each a size; what is left out is 1. */
export function parseDimensions(text: string): Dim3 {
  const parts = text.split(",");
  if (parts.length > 3) throw new Error(`'${text}' has more than three sizes; write X[,Y[,Z]]`);
  const [x = 1, y = 1, z = 1] = parts.map((part) => accepted(parseSize(part)));
  return [x, y, z];
}

/** The flag parser's way to refuse is to throw; it makes a usage error of it. */
export function accepted<T>(result: Result<T, string>): T {
  if (!result.ok) throw new Error(result.error);
  return result.value;
}

/** Which of the dies. */
export const parseDie = (text: string): number => accepted(parseWhole(text, 0, DIES_COUNT_MAX - 1));

/** Bytes of dynamic shared memory; none is 0. */
export function parseShared(text: string): number {
  return text === "0" ? 0 : accepted(parseSize(text));
}
