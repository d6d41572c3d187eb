/** The commands, as one table: parsing, help, usage errors and Tab all derive from it. */
import type { Log, Result } from "../base/mod.ts";
import type { Owner, OwnerRefusal } from "../owner/mod.ts";
import type { CommandArgumentName } from "./command-arguments.ts";
import {
  countLine,
  discoveryLines,
  drainLine,
  onlineLine,
  probeLine,
  readLine,
  retryLine,
  statusLines,
  swapLine,
  teardownLines,
  workLine,
} from "./report-lines.ts";

/** What a command works on. */
export type CommandContext = { readonly owner: Owner; readonly log: Log };

/** Whether the loop goes on. */
export type CommandOutcome = "continue" | "leave";

/** A command as it was typed, each argument read. */
export type CommandValues = Readonly<Record<CommandArgumentName, number>>;

export type Command = {
  /** What it is called, its other names after the first. */
  readonly names: readonly [string, ...string[]];
  readonly arguments: readonly CommandArgumentName[];
  /** What it does, for `help`. */
  readonly summary: string;
  /** `name` is the one that was typed. Only the values of its own arguments mean something. */
  readonly run: (
    context: CommandContext,
    values: CommandValues,
    name: string,
  ) => Promise<CommandOutcome>;
};

/** Never throws for anything typed; an owner that throws has a bug, and that is passed on. */
export const COMMANDS: readonly Command[] = [
  {
    names: ["discover"],
    arguments: [],
    summary: "lists the dies of this machine and the one in the slot",
    run: ({ owner, log }) => report(log, "discover", owner.discover(), discoveryLines),
  },
  {
    names: ["online"],
    arguments: ["die"],
    summary: "brings a die up to a live context with the work kernel and its buffers resident",
    run: ({ owner, log }, { die }) => report(log, `online ${die}`, owner.online(die), onlineLine),
  },
  {
    names: ["probe"],
    arguments: ["die"],
    summary: "binds a further die beside those online and counts devices; makes no context",
    run: ({ owner, log }, { die }) => report(log, `probe ${die}`, owner.probe(die), probeLine),
  },
  {
    names: ["swap"],
    arguments: ["die"],
    summary: "moves the one window to a die; no context is destroyed",
    run: ({ owner, log }, { die }) => report(log, `swap ${die}`, owner.swap(die), swapLine),
  },
  {
    names: ["work"],
    arguments: ["die", "seed", "iters"],
    summary: "fills the input from seed, launches output = input + iters, does not wait",
    run: ({ owner, log }, { die, seed, iters }) =>
      report(log, `work ${die}`, owner.work(die, seed, iters), workLine),
  },
  {
    names: ["read"],
    arguments: ["die"],
    summary: "waits for the work, copies it back and verifies every element",
    run: ({ owner, log }, { die }) => report(log, `read ${die}`, owner.read(die), readLine),
  },
  {
    names: ["count"],
    arguments: [],
    summary: "how many devices the driver counts",
    run: ({ owner, log }) => report(log, "count", owner.count(), countLine),
  },
  {
    names: ["status"],
    arguments: [],
    summary: "the slot, the driver and every die, one line each",
    run: runStatus,
  },
  {
    names: ["retry"],
    arguments: ["die"],
    summary: "lets rungs be climbed again that reset the machine, or that hang",
    run: runRetry,
  },
  {
    names: ["help"],
    arguments: [],
    summary: "these lines",
    run: runHelp,
  },
  {
    names: ["drain"],
    arguments: [],
    summary: "takes no further work, waits until what was accepted has ended; 'read' still works",
    run: ({ owner, log }) => tell(log, owner.drain(), (report) => drainLine("drain", report)),
  },
  {
    names: ["park"],
    arguments: [],
    summary: "drains, then touches no die at all: no probe, no swap, no bring-up",
    run: ({ owner, log }) => tell(log, owner.park(), (report) => drainLine("park", report)),
  },
  {
    names: ["resume"],
    arguments: [],
    summary: "takes work again after drain, park or teardown",
    run: runResume,
  },
  {
    names: ["teardown"],
    arguments: [],
    summary: "slot direct only: parks, then destroys contexts in order and ends the die hosts",
    run: ({ owner, log }) => report(log, "teardown", owner.teardown(), teardownLines),
  },
  {
    names: ["shutdown", "quit", "exit"],
    arguments: [],
    summary: "leaves at once, without teardown: nothing is destroyed, the slot stays mapped",
    run: runLeave,
  },
];

/** `work <die> <seed> <iters>`. */
export function usageOf(command: Command): string {
  return [command.names.join("|"), ...command.arguments.map((name) => `<${name}>`)].join(" ");
}

/** The one line that says why the loop ends: a command, the end of input, a signal. */
export function leavingLine(reason: string, owner: Pick<Owner, "isTornDown">): string {
  const how = owner.isTornDown()
    ? "torn down before (no die is resident)"
    : "no teardown (dies stay resident, slot stays mapped)";
  return `${reason}: leaving REPL — ${how}`;
}

function helpLines(): string[] {
  const usages = COMMANDS.map(usageOf);
  const width = Math.max(...usages.map((usage) => usage.length));
  return [
    `commands: ${usages.join(" | ")}`,
    ...COMMANDS.map((each) => `  ${usageOf(each).padEnd(width)}  ${each.summary}`),
  ];
}

async function runStatus({ owner, log }: CommandContext): Promise<CommandOutcome> {
  statusLines(await owner.status()).forEach(log);
  return "continue";
}

function runResume({ owner, log }: CommandContext): Promise<CommandOutcome> {
  owner.resume();
  log("resume: OK (mode=serving)");
  return Promise.resolve("continue");
}

/** Logs what came back of something that is never refused. */
async function tell<T>(
  log: Log,
  answer: Promise<T>,
  lineOf: (value: T) => string,
): Promise<CommandOutcome> {
  log(lineOf(await answer));
  return "continue";
}

function runRetry({ owner, log }: CommandContext, { die }: CommandValues): Promise<CommandOutcome> {
  log(retryLine(die, owner.retry(die)));
  return Promise.resolve("continue");
}

function runHelp({ log }: CommandContext): Promise<CommandOutcome> {
  helpLines().forEach(log);
  return Promise.resolve("continue");
}

function runLeave(
  { owner, log }: CommandContext,
  _values: CommandValues,
  name: string,
): Promise<CommandOutcome> {
  log(leavingLine(name, owner));
  return Promise.resolve("leave");
}

/** Logs what came back, or why nothing did, and goes on either way. */
async function report<T>(
  log: Log,
  what: string,
  result: Promise<Result<T, OwnerRefusal>>,
  linesOf: (value: T) => string | readonly string[],
): Promise<CommandOutcome> {
  const answer = await result;
  if (!answer.ok) log(`${what}: ${answer.error.message}`);
  else
    [linesOf(answer.value)].flat().forEach((line) => {
      log(line);
    });
  return "continue";
}
