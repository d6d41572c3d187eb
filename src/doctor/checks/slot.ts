import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";

const PATH = "/dev/bar_swap";

/** Whether the slot's device is there, ours to open, and free of others. */
export const slot: Check = {
  id: "slot",
  title: "/dev/bar_swap is there, may be opened, and is nobody else's",
  scope: "slot",
  findings: [
    ...["slot-missing", "slot-denied", "slot-hung", "slot-broken"],
    ...["slot-held", "slot-unseen", "slot-stale"],
  ],
  run: (facts) => {
    const found = findingOf(facts);
    return found === null ? [] : [{ subject: PATH, ...found }];
  },
};

type Part = Omit<Finding, "subject">;

function findingOf({ slot: { isThere, mayOpen, answer }, processes }: Facts): Part | null {
  if (!isThere) return missing;
  if (!mayOpen) return denied;
  switch (answer.state) {
    case "hung":
      return hung(answer.afterMs);
    case "failed":
      return answer.code === "EACCES" || answer.code === "EPERM" ? denied : broken(answer.message);
    case "slot":
      break;
    case "bytes":
    case "opened":
    case "libcuda":
    case "not_asked":
      return null;
  }
  const { occupant, holderPid } = answer.answer;
  const holder = processes.holders.find(({ pid }) => pid === holderPid);
  if (holderPid !== null && holder !== undefined) {
    return held(holder.pid, holder.command);
  }
  // Who holds it may be one of those whose files we may not see, or have no number here (0).
  if (holderPid !== null && (holderPid <= 0 || processes.hiddenCount > 0)) return unseen(holderPid);
  return occupant === null ? null : stale(occupant, holderPid);
}

const missing: Part = {
  id: "slot-missing",
  severity: "problem",
  message: "there is no such device: the kernel module that offers the slot is not loaded",
  mend: "load the board's bar_swap module, and read what it says in the kernel's log",
  command: "modprobe bar_swap; dmesg | tail -20",
};

const denied: Part = {
  id: "slot-denied",
  severity: "problem",
  message: "this user may not open it",
  mend: "run as root, as bring-up writes to sysfs too",
  command: "ls -l /dev/bar_swap",
};

const hung = (afterMs: number): Part => ({
  id: "slot-hung",
  severity: "problem",
  message: `it did not say within ${afterMs / 1000} s which die is in the window`,
  mend: "a call into its module hangs: find the process that waits in the kernel; then a restart",
  command: "ps -eo pid,stat,wchan:32,args | awk '$2 ~ /D/'",
});

const broken = (message: string): Part => ({
  id: "slot-broken",
  severity: "problem",
  message: `it does not answer as include/holdfast/bar_swap.h has it: ${message}`,
  mend: "load a module of version 1 of that header",
  command: "dmesg | grep -i bar_swap",
});

const held = (pid: number, command: string): Part => ({
  id: "slot-held",
  severity: "note",
  message: `${command} (pid ${pid}) holds it: an owner is at work; a second one would be refused`,
  mend: "give commands to that owner, or let it leave first",
  command: `ps -fp ${pid}`,
});

const unseen = (pid: number): Part => ({
  id: "slot-unseen",
  severity: "note",
  message:
    pid > 0
      ? `pid ${pid} acquired it; whether that owner is at work this user cannot see`
      : "an owner that has no process number here acquired it, and may be at work elsewhere",
  mend:
    pid > 0
      ? "run this as root; a second owner is refused while the first one lives"
      : "look on the host, or in the container that has the slot",
  command: pid > 0 ? `ls -l /proc/${pid}` : null,
});

const stale = (occupant: number, pid: number | null): Part => ({
  id: "slot-stale",
  severity: "note",
  message:
    `die ${occupant} is in the window, left by ` +
    `${pid === null ? "an owner" : `pid ${pid}`} that is gone`,
  mend: "nothing to do: the next owner takes it over; nobody should release it by hand",
  command: null,
});
