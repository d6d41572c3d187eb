import { dirname } from "node:path";
import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { counted } from "./wanted.ts";

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "this user may not write there",
  EPERM: "this user may not write there",
  EROFS: "its file system is mounted read-only",
  ENOTDIR: "it is a file, not a folder",
};

/** Whether journal and state can be kept, and what of them is in the way. */
export const state: Check = {
  id: "state",
  title: "the state directory can be written, and has no leftovers",
  scope: "machine",
  findings: ["state-unwritable", "journal-unreadable", "journal-strange", "state-leftovers"],
  run: (facts) => [
    ...unwritable(facts),
    ...unreadable(facts),
    ...strange(facts),
    ...leftovers(facts),
  ],
};

function unwritable({ state: { obstacle, directory } }: Facts): readonly Finding[] {
  if (obstacle === null) return [];
  const { code, path } = obstacle;
  return [
    {
      id: "state-unwritable",
      severity: "warning",
      subject: directory,
      message: `no journal and no sequence numbers can be kept: ${path}: ${REASONS[code] ?? code}`,
      mend: "name another folder with --state-dir, or make this one writable",
      command: `ls -ld ${path} ${dirname(path)}`,
    },
  ];
}

function unreadable({ state: { journalError, journalPath } }: Facts): readonly Finding[] {
  if (journalError === null) return [];
  return [
    {
      id: "journal-unreadable",
      severity: "warning",
      subject: journalPath,
      message: `the bring-up journal cannot be read: ${journalError}`,
      mend: "read it as the user who runs the owner; without it a rung that wedged stays unknown",
      command: `ls -l ${journalPath}`,
    },
  ];
}

/** One torn line is what a crash leaves; more, or lines of another kind, are worth a look. */
function strange({ state: { strangeLines, journalPath } }: Facts): readonly Finding[] {
  if (strangeLines === 0) return [];
  return [
    {
      id: "journal-strange",
      severity: "note",
      subject: journalPath,
      message:
        `${counted(strangeLines, "line")} of the bring-up journal without sense: ` +
        `torn by a crash, of a newer version, or not ours`,
      mend: "look at them; once no rung is held back, the file may be removed",
      command: `tail ${journalPath}`,
    },
  ];
}

function leftovers({ state: { leftovers: found, directory } }: Facts): readonly Finding[] {
  const [first] = found;
  if (first === undefined) return [];
  return [
    {
      id: "state-leftovers",
      severity: "note",
      subject: directory,
      message: `${counted(found.length, "file")} of processes that have ended, e.g. ${first}`,
      mend: "they are in nobody's way, and may be removed",
      command: `rm ${found.slice(0, 4).join(" ")}`,
    },
  ];
}
