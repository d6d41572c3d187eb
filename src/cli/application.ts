/** Every command's flags and help. A command's own code is loaded only when it is called. */
import {
  buildApplication,
  buildCommand,
  buildRouteMap,
  help,
  version as versionFlag,
  type Application,
  type Command,
} from "@stricli/core";
import { ARGUMENT_FORMS } from "./argument-forms.ts";
import { APPLICATION_TEXT } from "./application-text.ts";
import { BOARD_COMMANDS } from "./board-routes.ts";
import { BRIDGE_COMMANDS } from "./bridge-routes.ts";
import type { CliContext } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import { fit } from "./fit.ts";
import {
  OUTPUT_FLAGS,
  OWNER_FLAGS,
  parseDie,
  parseDimensions,
  parseShared,
  type OutputFlags,
  type OwnerFlags,
} from "./flags.ts";
import type { OwnerCommandFlags } from "./owner-command.ts";
import type { RunCommandFlags } from "./run-command.ts";

const demo: Command<CliContext> = buildCommand<OwnerFlags & OutputFlags, [], CliContext>({
  docs: { brief: "show on one screen what Holdfast does on this machine; ends with PASS" },
  // The simulated window is what there is to see; on a direct board no swap moves anything.
  parameters: {
    flags: { ...OWNER_FLAGS, slot: { ...OWNER_FLAGS.slot, default: "sim" }, ...OUTPUT_FLAGS },
  },
  loader: async () => fit((await import("./demo-command.ts")).demoCommand),
});

const devices: Command<CliContext> = buildCommand<OwnerFlags & OutputFlags, [], CliContext>({
  docs: { brief: "list the dies of this machine" },
  parameters: { flags: { ...OWNER_FLAGS, ...OUTPUT_FLAGS } },
  loader: async () => fit((await import("./devices-command.ts")).devicesCommand),
});

const owner: Command<CliContext> = buildCommand<OwnerCommandFlags, [], CliContext>({
  docs: {
    brief: "hold the dies and take commands from a prompt, a pipe or a FIFO",
    fullDescription: [
      "Holds the dies and takes commands, one a line; 'help' lists them. Reads stdin, with",
      "editing, history and Tab at a terminal, or the FIFO of --fifo. It leaves without teardown:",
      "at once on 'quit' and at the end of input; on SIGINT, SIGTERM or SIGHUP once what it has",
      "accepted has ended, and at once on a second one.",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...OWNER_FLAGS,
      fifo: {
        kind: "parsed",
        parse: (text: string) => text,
        optional: true,
        placeholder: "PATH",
        brief: "read commands from this FIFO (made by mkfifo); its writers may come and go",
      },
      log: {
        kind: "parsed",
        parse: (text: string) => text,
        optional: true,
        placeholder: "PATH",
        brief: "append the log to this file; stdout where it cannot be opened",
      },
    },
  },
  loader: async () => fit((await import("./owner-command.ts")).ownerCommand),
});

const RUN_DESCRIPTION = [
  "Runs one kernel of a PTX file and says what it did. Arguments are given in the kernel's order,",
  "each by one --arg:",
  `  ${ARGUMENT_FORMS.scalar}`,
  `  ${ARGUMENT_FORMS.in}`,
  `  ${ARGUMENT_FORMS.out}`,
  `  ${ARGUMENT_FORMS.inout}`,
  "  TYPE is u8 s8 u16 s16 u32 s32 u64 s64 f32 or f64; COUNT and BYTES may be 4Ki, 1Mi, 2Gi;",
  `  GENERATOR is ${ARGUMENT_FORMS.generator}`,
  "Outputs without a file are shown by their first values. For example, c = a + b:",
  "  holdfast run kernels/base.ptx --kernel vadd --grid 4096 --block 256 \\",
  "    --arg 'out:f32[1Mi]' --arg 'in:f32[1Mi]=ramp:0.5,1000' \\",
  "    --arg 'in:f32[1Mi]=ramp:0.25,997' --arg u32:1Mi",
].join("\n");

const SIZES = "X[,Y[,Z]]";

const run: Command<CliContext> = buildCommand<RunCommandFlags, [string], CliContext>({
  docs: { brief: "run a kernel of a PTX file", fullDescription: RUN_DESCRIPTION },
  parameters: {
    positional: {
      kind: "tuple",
      parameters: [{ brief: "PTX file", placeholder: "FILE.ptx", parse: (text: string) => text }],
    },
    flags: {
      kernel: {
        kind: "parsed",
        parse: (text: string) => text,
        placeholder: "NAME",
        brief: "the .entry to launch",
      },
      grid: { kind: "parsed", parse: parseDimensions, placeholder: SIZES, brief: "blocks" },
      block: {
        kind: "parsed",
        parse: parseDimensions,
        placeholder: SIZES,
        brief: "threads of a block",
      },
      arg: {
        kind: "parsed",
        parse: (text: string) => text,
        variadic: true,
        optional: true,
        placeholder: "ARG",
        brief: "a kernel argument; again for each, in order",
      },
      shared: {
        kind: "parsed",
        parse: parseShared,
        default: "0",
        placeholder: "BYTES",
        brief: "dynamic shared memory",
      },
      die: {
        kind: "parsed",
        parse: parseDie,
        default: "0",
        placeholder: "N",
        brief: "die to run on, 0 to 31",
      },
      ...OWNER_FLAGS,
      ...OUTPUT_FLAGS,
    },
  },
  loader: async () => fit((await import("./run-command.ts")).runCommand),
});

/** `version` gives what `--version` prints. */
export function createApplication(version: () => string): Application<CliContext> {
  // Without a prototype, or `holdfast toString` would be a command.
  const routes = Object.assign(Object.create(null) as Record<string, Command<CliContext>>, {
    demo,
    owner,
    run,
    ...BRIDGE_COMMANDS,
    ...BOARD_COMMANDS,
    devices,
    ...BOARD_COMMANDS,
  });
  const root = buildRouteMap<string, CliContext>({
    routes,
    docs: {
      brief: "the process that holds your GPUs",
      fullDescription: [
        "Holdfast is the process that holds your GPUs: every die's context stays resident, the",
        "one window moves between them, kernels run for others. 'holdfast demo' shows it, with no",
        "GPU too.",
        "Exit codes: 0 ok, 1 a check failed, 2 bad usage, 3 no device, 4 device fault.",
      ].join("\n"),
    },
  });
  const config = {
    name: "holdfast",
    scanner: { caseStyle: "allow-kebab-for-camel", allowArgumentEscapeSequence: false },
    documentation: { disableAnsiColor: true },
    localization: { text: APPLICATION_TEXT },
    determineExitCode: () => EXIT.bug,
  } as const;
  return buildApplication(root, config, {
    help: help({
      brief: "show this, or a command's own",
      defaultForRouteMap: true,
      formatting: {
        caseStyle: "convert-camel-to-kebab",
        onlyRequiredInUsageLine: true,
        useAliasInUsageLine: false,
      },
    }),
    version: versionFlag({
      brief: "show the version",
      info: { getCurrentVersion: () => Promise.resolve(version()) },
    }),
  });
}
