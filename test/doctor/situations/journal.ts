// What an interrupted bring-up leaves behind.
import { BOOT_ID, K80_SLOT, PLAIN } from "../machines.ts";
import { change } from "../machine-tree.ts";
import type { Situation } from "../situation.ts";

const line = (fields: Readonly<Record<string, unknown>>): string =>
  `${JSON.stringify({
    time: "2026-12-01T08:15:30.250Z",
    pid: 4711,
    boot: BOOT_ID,
    step: "bind",
    die: 1,
    phase: "begin",
    ...fields,
  })}\n`;

const before = line({ step: "unblock" }) + line({ step: "unblock", phase: "done" });

export const JOURNAL: readonly Situation[] = [
  {
    name: "the machine went down while the second die was bound",
    machine: change(K80_SLOT, {
      state: {
        "bring-up.journal": before + line({ boot: "an-earlier-start", address: "0000:06:00.0" }),
      },
    }),
    finds: [
      {
        id: "bring-up-host-reset",
        about: "die 1",
        says: ["'bind'", "0000:06:00.0", "2026-12-01T08:15:30.250Z", "pid 4711", "--retry"],
      },
    ],
  },
  {
    name: "the owner was killed while it acquired the slot",
    machine: change(K80_SLOT, { state: { "bring-up.journal": line({ step: "acquire", die: 0 }) } }),
    finds: [{ id: "bring-up-killed", about: "die 0", says: ["'acquire'", "start it again"] }],
  },
  {
    name: "a killed owner's rung is told as long as no climb has passed it",
    machine: change(K80_SLOT, {
      state: {
        "bring-up.journal":
          line({ step: "bind", die: 0, slot: "bar_swap" }) +
          line({ pid: 4712, step: "discover", die: 0 }) +
          line({ pid: 4712, step: "discover", die: 0, phase: "done" }),
      },
    }),
    finds: [{ id: "bring-up-killed", says: ["'bind'", "--slot bar_swap --state-dir /"] }],
  },
  {
    name: "a rehearsal on the simulated board was ended by a reboot",
    machine: change(PLAIN, {
      state: { "bring-up.journal": line({ boot: "earlier", slot: "sim" }) },
    }),
    finds: [
      { id: "bring-up-host-reset", says: ["simulated die 1", "ladder --slot sim --state-dir /"] },
    ],
  },
  {
    name: "the driver's loading hangs, and its process is still there",
    machine: change(K80_SLOT, {
      files: { "proc/4712/comm": "modprobe\n" },
      state: {
        "bring-up.journal": line({
          step: "load-driver",
          phase: "failed",
          verdict: "hung",
          stepPid: 4712,
        }),
      },
    }),
    finds: [{ id: "bring-up-hung", about: "die 1", says: ["'load-driver'", "/proc/4712/wchan"] }],
  },
  {
    name: "the driver's loading hung, and another process has its number by now",
    machine: change(K80_SLOT, {
      files: {
        "proc/4712/comm": "cron\n",
        "proc/4712/stat": `4712 (cron) S 1 4712 4712 ${"0 ".repeat(15)}900 0\n`,
      },
      state: {
        "bring-up.journal": line({
          step: "load-driver",
          phase: "failed",
          verdict: "hung",
          ...{ stepPid: 4712, stepStartTicks: 70 },
        }),
      },
    }),
    finds: [],
  },
  {
    name: "another owner is at it",
    machine: change(K80_SLOT, {
      files: { "proc/4711/comm": "node\n" },
      state: { "bring-up.journal": line({ step: "context" }) },
    }),
    finds: [{ id: "bring-up-running", about: "die 1", says: ["'context'", "pid 4711"] }],
  },
  {
    name: "a journal that is torn and scribbled on: its other lines are read, and that is told",
    machine: change(PLAIN, {
      state: { "bring-up.journal": `${before}\0\0{"time":\n${line({ step: "warp" })}[]\n` },
    }),
    finds: [{ id: "journal-strange", says: ["3 lines"] }],
  },
];
