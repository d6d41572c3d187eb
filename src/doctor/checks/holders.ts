import type { Check } from "../check.ts";
import type { DeviceHolder } from "../facts/processes.ts";
import { boundDies } from "./wanted.ts";

/** nvidia-persistenced, as the kernel cuts its name. */
const PERSISTENCED = "nvidia-persiste";

/** Our own processes are Node's; which of those are ours their open slot tells. */
const isOurs = ({ paths }: DeviceHolder): boolean => paths.includes("/dev/bar_swap");

/**
 * Who has the dies open. On a direct board others may; behind a window whoever holds a die touches
 * it while it is not mapped, and keeps the driver from letting go of it.
 */
export const holders: Check = {
  id: "holders",
  title: "nobody else holds a die behind the window; no persistence daemon",
  scope: "slot",
  findings: ["persistence-daemon", "die-in-use"],
  run: (facts) => {
    const { holders: found } = facts.processes;
    // Die hosts of a running owner hold dies too, and belong to whoever holds the slot.
    const isOwned = found.some(isOurs);
    return found.flatMap((holder) => {
      const devices = holder.paths.filter((path) => /nvidia/.test(path));
      if (devices.length === 0) return [];
      const who = `${holder.command} (pid ${holder.pid})`;
      if (holder.command.startsWith(PERSISTENCED)) {
        return [
          {
            id: "persistence-daemon",
            severity: "warning",
            subject: who,
            message:
              `the persistence daemon has ${devices.join(", ")} open: it touches dies ` +
              `that are not in the window, and an unbind waits for it without end`,
            mend: "stop it, and keep it from starting; the owner keeps the dies awake",
            command: "systemctl disable --now nvidia-persistenced",
          },
        ];
      }
      if (isOwned && holder.command === "node") return [];
      const isBound = boundDies(facts).length > 0;
      return [
        {
          id: "die-in-use",
          severity: "warning",
          subject: who,
          message:
            `it has ${devices.join(", ")} ` +
            `open${isBound ? ", and an unbind would wait for it without end" : ""}`,
          mend: "let it end, or end it, before a die is brought up or moved",
          command: `ps -fp ${holder.pid}`,
        },
      ];
    });
  },
};
