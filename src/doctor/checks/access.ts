import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { isGpuWanted } from "./wanted.ts";

/** What could not be looked at; a report that is silent on it would say that it is well. */
export const access: Check = {
  id: "access",
  title: "everything could be looked at",
  scope: "machine",
  findings: ["not-checked"],
  run: (facts) => {
    // Where no GPU is wanted nothing of what needs root was of interest.
    if (!isGpuWanted(facts)) return [];
    const unseen = [...refused(facts), ...unanswered(facts)];
    if (unseen.length === 0) return [];
    const isRoot = facts.runtime.user.uid === 0;
    const finding: Finding = {
      id: "not-checked",
      severity: "note",
      subject: null,
      message: `could not be checked: ${unseen.join("; ")}`,
      mend: isRoot
        ? "a container or the kernel keeps these from root: run it on the host itself"
        : "need root: run it again with sudo",
      command: isRoot ? null : "sudo holdfast doctor",
    };
    return [finding];
  },
};

/** Paths are named as the operator would type them; those of single processes are only counted. */
function refused({ denied, processes, log, slotKind }: Facts): readonly string[] {
  const paths = denied
    .filter(({ path }) => !/^proc\/\d+\//.test(path) && path !== "dev/kmsg")
    .map(({ path, code }) => `/${path} (${code})`);
  const hidden = processes.hiddenCount;
  return [
    ...paths,
    ...(log.isReadable ? [] : ["the kernel's log (/dev/kmsg)"]),
    ...(hidden > 0 && slotKind === "bar_swap"
      ? [`what ${hidden} processes of other users have open`]
      : []),
  ];
}

/** Probes that failed in a way that no check tells of. */
function unanswered({ dies }: Facts): readonly string[] {
  return dies.flatMap(({ address, config, override }) =>
    [
      { name: "config", result: config },
      { name: "driver_override", result: override },
    ].flatMap(({ name, result }) =>
      result.state === "failed" && result.code !== "ENOENT"
        ? [`${name} of ${address} (${result.code})`]
        : [],
    ),
  );
}
