/** How an owner at its prompt is told to stop: the first signal asks, the second insists. */
import type { Log } from "../base/mod.ts";
import type { Owner } from "../owner/mod.ts";
import { leavingLine } from "../repl/mod.ts";
import { exitOfSignal } from "./owner-session.ts";
import type { LeaveSignal, Surroundings } from "./surroundings.ts";

export type OwnerStop = {
  /** Resolves with the first signal's name. */
  readonly asked: Promise<string>;
  /** A second one came: the owner leaves. */
  readonly hasInsisted: () => boolean;
  /** A signal that came another way: Ctrl-C at a terminal. */
  readonly signal: (signal: LeaveSignal) => void;
  readonly forget: () => void;
};

/**
 * From now on the first signal drains, since a kernel that is cut off may leave a GPU in a bad way,
 * and whoever waits for the end is told by `asked`; the second leaves at once, and the process ends
 * as one that the signal has ended.
 */
export function stopOnSignal(session: {
  readonly surroundings: Pick<Surroundings, "onSignal" | "exit">;
  readonly owner: Pick<Owner, "drain" | "leave" | "isTornDown">;
  readonly log: Log;
  /** Gives back what commands are read from. */
  readonly close: () => void;
}): OwnerStop {
  const { surroundings, owner, log, close } = session;
  let ask: ((signal: string) => void) | null = null;
  const asked = new Promise<string>((resolve) => (ask = resolve));
  let hasInsisted = false;
  const leaveAtOnce = async (name: LeaveSignal): Promise<void> => {
    log(`${name}, the second: leaving at once`);
    close();
    await owner.leave();
    log(leavingLine(name, owner));
    log("owner REPL exiting");
    surroundings.exit(exitOfSignal(name));
  };
  const signal = (name: LeaveSignal): void => {
    if (ask !== null) {
      log(`${name}: leaving once what was accepted has ended; a second signal leaves at once`);
      void owner.drain();
      ask(name);
      ask = null;
      return;
    }
    if (hasInsisted) return;
    hasInsisted = true;
    void leaveAtOnce(name);
  };
  return { asked, hasInsisted: () => hasInsisted, signal, forget: surroundings.onSignal(signal) };
}
