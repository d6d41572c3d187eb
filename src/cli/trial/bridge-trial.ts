/** What the commands that try the bridge need: dies online, a scratch folder, a bridge in it. */
import { join, resolve } from "node:path";
import { stampedLog, type Log } from "../../base/mod.ts";
import type { Mailbox } from "../../bridge/mod.ts";
import type { OnlineReport } from "../../owner/mod.ts";
import { withBridge, type BridgeSession } from "./bridge-session.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import type { OutputFlags, OwnerFlags } from "../flags.ts";
import { bringOnline, exitOfRefusal } from "../online-dies.ts";
import type { OpenedOwner } from "../open-owner.ts";
import { complain, withOwner } from "../owner-session.ts";
import { withScratchFolder } from "../scratch-folder.ts";
import type { Surroundings } from "../surroundings.ts";

/** What an answer may take beyond the kernel's own timeout: files, checks, a new die host. */
const ANSWER_MS = 60_000;

/** Longest wait for a done record. */
export const answerMsMax = ({ timeoutMs }: Pick<OwnerFlags, "timeoutMs">): number =>
  timeoutMs + ANSWER_MS;

export type TrialFlags = OwnerFlags & OutputFlags & { readonly dir: string | undefined };

export type TrialPlan<Mailboxes extends readonly Mailbox[]> = {
  /** Null: all that there are. */
  readonly dies: readonly number[] | null;
  /** Made in a folder that is removed afterwards. */
  readonly mailboxes: (folder: string, opened: OpenedOwner) => Mailboxes;
  readonly printJobLine: (line: string) => void;
};

export type TrialStage<Mailboxes extends readonly Mailbox[]> = {
  readonly opened: OpenedOwner;
  readonly session: BridgeSession;
  readonly mailboxes: Mailboxes;
  readonly online: readonly OnlineReport[];
  readonly folder: string;
};

/**
 * Calls `action` with all that; where some of it cannot be had, says why and gives the exit code.
 * All files are in a new folder in `--dir`, and are removed afterwards.
 */
export async function withBridgeTrial<Mailboxes extends readonly Mailbox[]>(
  surroundings: Surroundings,
  flags: TrialFlags,
  plan: TrialPlan<Mailboxes>,
  action: (stage: TrialStage<Mailboxes>) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { workingDirectory, temporaryDirectory } = surroundings;
  const parent =
    flags.dir === undefined ? temporaryDirectory : resolve(workingDirectory, flags.dir);
  const log = flags.verbose ? verboseLog(surroundings) : noLog;
  try {
    return await withScratchFolder(
      surroundings,
      (folder) =>
        withOwner(surroundings, flags, async (opened) => {
          const online = await bringOnline(opened.owner, plan.dies, log);
          if (!online.ok) {
            complain(surroundings, online.error.message);
            return exitOfRefusal(online.error);
          }
          const mailboxes = plan.mailboxes(folder, opened);
          const served = await withBridge(
            {
              opened,
              mailboxes,
              stateDirectory: join(folder, "state"),
              printJobLine: plan.printJobLine,
              log,
            },
            (session) => action({ opened, session, mailboxes, online: online.value, folder }),
          );
          if (served.ok) return served.value;
          complain(surroundings, served.error);
          return EXIT.badUsage;
        }),
      parent,
    );
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const { syscall = "a file", path = parent, code = "" } = error;
    complain(surroundings, `${syscall} ${path}: ${code}; --dir names another folder for the files`);
    return EXIT.badUsage;
  }
}

const noLog: Log = () => undefined;

const verboseLog = ({ errors, now }: Surroundings): Log =>
  stampedLog((line) => errors.write(line), now);

/** What Node's file system calls throw: a full disk, a folder that is not there. */
const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "syscall" in error && "code" in error;
