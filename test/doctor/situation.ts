// A situation: a machine, what it is wanted for, and what the doctor must find, no more, no less.
import type { Asked, Environment, Severity, User } from "../../src/doctor/mod.ts";
import type { Machine } from "./machine-tree.ts";

export type Expected = {
  readonly id: string;
  /** What it names as its subject. */
  readonly about?: string;
  /** What its message, mend or command must say. */
  readonly says?: readonly string[];
  readonly severity?: Severity;
  /** Null: that it gives no line to type. */
  readonly command?: null;
};

export type Situation = {
  readonly name: string;
  readonly machine: Machine;
  readonly asked?: Partial<Asked>;
  readonly environment?: Environment;
  readonly user?: User;
  readonly nodeVersion?: string;
  /** Below the tree's root, instead of where the machine's state lies. */
  readonly stateDirectory?: string;
  /** Nothing at all on a healthy machine. */
  readonly finds: readonly Expected[];
};
