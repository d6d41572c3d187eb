import type { Check } from "../check.ts";

/** `engines` of package.json: the first Node 20 with what we use. */
const NODE_MIN = [20, 19] as const;

export const nodeVersion: Check = {
  id: "node",
  title: `Node is ${NODE_MIN.join(".")} or newer`,
  scope: "machine",
  findings: ["node-old"],
  run: ({ runtime }) => {
    const [, major = "0", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(runtime.nodeVersion) ?? [];
    const [majorMin, minorMin] = NODE_MIN;
    const isOld =
      Number(major) < majorMin || (Number(major) === majorMin && Number(minor) < minorMin);
    if (!isOld) return [];
    return [
      {
        id: "node-old",
        severity: "problem",
        subject: runtime.nodeVersion,
        message: `this Node is older than ${NODE_MIN.join(".")}, which Holdfast needs`,
        mend: "install a newer one: https://nodejs.org",
        command: "node --version",
      },
    ];
  },
};
