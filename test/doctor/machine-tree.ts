// Machines as plain data, and a temporary tree of them that stands for `/`.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { ProbeResult } from "../../src/doctor/mod.ts";

/** What a machine's tree holds. Paths are without the `/` they begin with. */
export type Machine = {
  /** Text or bytes by path; null makes a folder. */
  readonly files: Readonly<Record<string, string | Uint8Array | null>>;
  readonly links: Readonly<Record<string, string>>;
  readonly modes: Readonly<Record<string, number>>;
  /** Answers of the probe process, by job. */
  readonly probes: Readonly<Record<string, ProbeResult>>;
  /** The state directory's files. */
  readonly state: Readonly<Record<string, string>>;
};

/** What a situation changes; undefined takes away. */
export type Change = {
  readonly [Part in keyof Machine]?: Readonly<
    Record<string, Machine[Part] extends Readonly<Record<string, infer T>> ? T | undefined : never>
  >;
};

export const EMPTY: Machine = { files: {}, links: {}, modes: {}, probes: {}, state: {} };

/**
 * The machine with changes, one after another. What is taken away takes what lies below with it.
 */
export function change(machine: Machine, ...changes: readonly Change[]): Machine {
  return changes.reduce<Machine>(
    (before, { files, links, modes, probes, state }) => ({
      files: merge(before.files, files),
      links: merge(before.links, links),
      modes: merge(before.modes, modes),
      probes: merge(before.probes, probes),
      state: merge(before.state, state),
    }),
    machine,
  );
}

function merge<T>(
  before: Readonly<Record<string, T>>,
  after: Readonly<Record<string, T | undefined>> = {},
): Readonly<Record<string, T>> {
  const merged = new Map(Object.entries(before));
  for (const [path, value] of Object.entries(after)) {
    if (value === undefined) {
      for (const key of [...merged.keys()]) {
        if (key === path || key.startsWith(`${path}/`)) merged.delete(key);
      }
    } else merged.set(path, value);
  }
  return Object.fromEntries(merged);
}

export type MachineTree = {
  readonly root: string;
  readonly stateDirectory: string;
  readonly end: () => void;
};

export function buildTree(machine: Machine): MachineTree {
  const root = mkdtempSync(join(tmpdir(), "holdfast-doctor-"));
  const stateDirectory = join(root, "var/lib/holdfast");
  const made = (path: string): string => {
    const whole = join(root, path);
    mkdirSync(dirname(whole), { recursive: true });
    return whole;
  };
  mkdirSync(stateDirectory, { recursive: true });
  for (const [path, content] of Object.entries(machine.files)) {
    if (content === null) mkdirSync(made(path), { recursive: true });
    else writeFileSync(made(path), content);
  }
  for (const [path, target] of Object.entries(machine.links)) symlinkSync(target, made(path));
  for (const [path, mode] of Object.entries(machine.modes)) chmodSync(join(root, path), mode);
  for (const [name, text] of Object.entries(machine.state)) {
    writeFileSync(made(join("var/lib/holdfast", name)), text);
  }
  writeFileSync(join(root, "probe.json"), JSON.stringify(machine.probes));
  return { root, stateDirectory, end: () => rmSync(root, { recursive: true, force: true }) };
}
