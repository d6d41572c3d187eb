/** `holdfast bridge`: the daemon that runs what a guest puts into its mailbox. */
import { join, resolve } from "node:path";
import { err, ok, stampedLog, systemClock, type Log, type Result } from "../../base/mod.ts";
import {
  createBridge,
  readMailboxes,
  type Bridge,
  type Mailbox,
  type RecordOutcome,
} from "../../bridge/mod.ts";
import type { Owner } from "../../owner/mod.ts";
import type { BridgeCommandFlags } from "./bridge-flags.ts";
import { flagsBesideConfig, mailboxDefaults, mailboxOf } from "./bridge-mailboxes.ts";
import { stopOnSignal } from "./bridge-stop.ts";
import type { CommandFunction } from "../context.ts";
import { countersLine } from "./counters-text.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { jobLineJson } from "./job-line.ts";
import { bringOnline, exitOfRefusal } from "../online-dies.ts";
import { complain, exitOfRefusedOwner, exitOfSignal, stateDirectoryFor } from "../owner-session.ts";
import type { Surroundings } from "../surroundings.ts";

export const bridgeCommand: CommandFunction<BridgeCommandFlags> = async (surroundings, flags) => {
  const mailboxes = mailboxesOf(surroundings, flags);
  if (!mailboxes.ok) return refuse(surroundings, mailboxes.error);
  const log = stampedLog((line) => surroundings.errors.write(line), surroundings.now);
  const stateDirectory = stateDirectoryFor(surroundings, flags);
  const dies = flags.dies ?? null;
  const fault = flags.fault ?? null;
  const opened = await surroundings.openOwner({ ...flags, stateDirectory, dies, log, fault });
  if (!opened.ok) return exitOfRefusedOwner(surroundings, opened.error);
  const { owner, basePayload } = opened.value;
  try {
    const bridge = createBridge({
      owner,
      mailboxes: mailboxes.value,
      baseModule: { name: "base.ptx", path: basePayload },
      stateDirectory,
      pollUs: flags.pollUs ?? null,
      printJobLine: (line) => {
        surroundings.output.write(`${flags.json ? jobLineJson(line) : line}\n`);
      },
      log,
      clock: systemClock,
    });
    if (!bridge.ok) return refuse(surroundings, bridge.error.message);
    tellWhatIsServed(mailboxes.value, stateDirectory, log);
    const daemon = { surroundings, owner, bridge: bridge.value, log };
    return await serve(daemon, mailboxes.value, flags.once);
  } finally {
    await owner.leave();
  }
};

/** Bad usage, in one line. */
function refuse(surroundings: Surroundings, message: string): ExitCode {
  complain(surroundings, message);
  return EXIT.badUsage;
}

function mailboxesOf(
  surroundings: Surroundings,
  flags: BridgeCommandFlags,
): Result<readonly Mailbox[], string> {
  const folder = surroundings.workingDirectory;
  const defaults = mailboxDefaults(flags);
  if (!defaults.ok) return defaults;
  if (flags.config === undefined) {
    const mailbox = mailboxOf(flags, defaults.value, folder);
    return mailbox.ok ? ok([mailbox.value]) : mailbox;
  }
  const surplus = flagsBesideConfig(flags);
  if (surplus.length > 0) {
    return err(`${surplus.join(", ")} beside --config; put them into that file, or leave it out`);
  }
  return readMailboxes(resolve(folder, flags.config), defaults.value);
}

function tellWhatIsServed(mailboxes: readonly Mailbox[], stateDirectory: string, log: Log): void {
  for (const mailbox of mailboxes) {
    const { name, version, verify, timeoutMs, timeoutMaxMs, forgetSequence } = mailbox;
    log(`serving ${name} (v${version}): ${filesText(mailbox)}`);
    log(
      `${name}: verify ${verify}, timeout ${timeoutMs} ms where a record names none, ` +
        `${timeoutMaxMs} ms at most${forgetSequence ? ", last sequence number forgotten" : ""}`,
    );
  }
  log(`last sequence numbers are kept in ${join(stateDirectory, "bridges")}`);
}

function filesText(mailbox: Mailbox): string {
  const { job, done } = mailbox;
  if (mailbox.version === 1) {
    return `job=${job} done=${done} ram=${mailbox.ram} ram_low_bytes=${mailbox.ramLowBytes}`;
  }
  const { out, modules } = mailbox;
  return `job=${job} in=${mailbox.in} out=${out} done=${done} modules=${modules ?? "none"}`;
}

type Daemon = {
  readonly surroundings: Surroundings;
  readonly owner: Owner;
  readonly bridge: Bridge;
  readonly log: Log;
};

/** Brings the dies online and serves, until a signal or, where `isOnce`, the first record. */
async function serve(
  daemon: Daemon,
  mailboxes: readonly Mailbox[],
  isOnce: boolean,
): Promise<ExitCode> {
  const { surroundings, owner, bridge, log } = daemon;
  const stop = stopOnSignal(surroundings, bridge, log);
  const forgetReports = surroundings.onReportSignal(() => logCounters(bridge, log));
  try {
    const online = await Promise.race([bringOnline(owner, diesOf(mailboxes), log), stop.asked]);
    if (online !== undefined && !online.ok) {
      complain(surroundings, online.error.message);
      return exitOfRefusal(online.error);
    }
    if (online !== undefined) log("ready");
    const served = isOnce ? bridge.runOnce() : bridge.run().then(() => null);
    const outcome = await Promise.race([served, stop.atOnce]);
    logCounters(bridge, log);
    log("bridge exiting; dies stay as they are");
    const signal = stop.signal();
    // Ended before anything else can run: a job that is cut short must get no done record, or it
    // would not be run again.
    if (outcome === undefined) return surroundings.exit(EXIT.ok);
    if (outcome !== null) return exitOfOutcome(outcome);
    return isOnce && signal !== null ? surroundings.exit(exitOfSignal(signal)) : EXIT.ok;
  } finally {
    stop.forget();
    forgetReports();
  }
}

/** The dies of all mailboxes; null: all there are. */
function diesOf(mailboxes: readonly Mailbox[]): readonly number[] | null {
  const dies = new Set<number>();
  for (const mailbox of mailboxes) {
    if (mailbox.dies === null) return null;
    for (const die of mailbox.dies) dies.add(die);
  }
  return [...dies].sort((left, right) => left - right);
}

function logCounters(bridge: Bridge, log: Log): void {
  for (const [name, counters] of bridge.counters()) log(countersLine(name, counters));
}

const EXIT_OF_STATUS: Readonly<Partial<Record<string, ExitCode>>> = {
  ok: EXIT.ok,
  no_device: EXIT.noDevice,
  device_error: EXIT.deviceFault,
  timeout: EXIT.deviceFault,
};

/** How `--once` ends: a record that was rejected, or ended in any other way, is a failed check. */
function exitOfOutcome(outcome: RecordOutcome): ExitCode {
  if (outcome.kind === "rejected") return EXIT.checkFailed;
  return EXIT_OF_STATUS[outcome.status] ?? EXIT.checkFailed;
}
