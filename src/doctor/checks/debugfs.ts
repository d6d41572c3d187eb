import type { Check } from "../check.ts";

/** Whether the place of guests' mailboxes is there. Plain files need none of it. */
export const debugfs: Check = {
  id: "debugfs",
  title: "debugfs, where guests' mailboxes may lie, is mounted and readable",
  scope: "slot",
  findings: ["debugfs-unmounted", "debugfs-denied"],
  run: ({ debugfs: { isKnown, isMounted, mayRead } }) => {
    if (!isKnown) return [];
    if (!isMounted) {
      return [
        {
          id: "debugfs-unmounted",
          severity: "note",
          subject: "/sys/kernel/debug",
          message: "debugfs is not mounted: mailboxes of kernel modules cannot be reached",
          mend: "mount it, if a guest's mailbox is to be served from there",
          command: "mount -t debugfs none /sys/kernel/debug",
        },
      ];
    }
    if (mayRead) return [];
    return [
      {
        id: "debugfs-denied",
        severity: "note",
        subject: "/sys/kernel/debug",
        message: "debugfs is mounted and closed to this user",
        mend: "run the bridge as root, if a guest's mailbox is to be served from there",
        command: "ls -ld /sys/kernel/debug",
      },
    ];
  },
};
