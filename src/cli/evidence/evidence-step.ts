/** What the makers of evidence files share. */
import type { Surroundings } from "../surroundings.ts";
import type { OwnerFlags } from "../flags.ts";

export type EvidenceFlags = OwnerFlags & {
  readonly dir: string;
  readonly bigIters: number;
  readonly roundMs: number;
};

/** What a maker works with. */
export type EvidenceStage = {
  readonly surroundings: Surroundings;
  readonly flags: EvidenceFlags;
  /** For files that are not evidence; removed afterwards. */
  readonly scratch: string;
};

export type Evidence = {
  /** The command that made it, as one may type it. */
  readonly command: string;
  readonly text: string;
  readonly pass: boolean;
  /** Of the command, where that was a program of its own; null where a signal ended it. */
  readonly code?: number | null;
};

export type EvidenceStep = {
  readonly file: string;
  readonly make: (stage: EvidenceStage) => Promise<Evidence>;
};

/** The flags that choose the device, for a command that is started for its output. */
export function ownerWords(flags: OwnerFlags): readonly string[] {
  const { backend, dies, slot, timeoutMs, holdMs, waitMs } = flags;
  const word = (name: string, value: number | undefined): readonly string[] =>
    value === undefined ? [] : [name, String(value)];
  return [
    ...["--backend", backend, "--slot", slot, "--timeout-ms", String(timeoutMs)],
    ...[...word("--dies", dies), ...word("--hold-ms", holdMs), ...word("--wait-ms", waitMs)],
  ];
}
