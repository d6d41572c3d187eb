/** What the commands need of whoever wires backends, boards and die hosts to an owner. */
import type { Log, Result } from "../base/mod.ts";
import type { Owner } from "../owner/mod.ts";

export const BACKENDS = ["auto", "cuda", "soft"] as const;
export const SLOTS = ["direct", "bar_swap", "sim"] as const;

export type OwnerRequest = {
  readonly backend: (typeof BACKENDS)[number];
  /** Dies; more than the devices share them in turn. Null: what the machine or the backend has. */
  readonly dies: number | null;
  readonly slot: (typeof SLOTS)[number];
  /** Absolute. Holds the bring-up journal. */
  readonly stateDirectory: string;
  /** How long the work kernel may run. */
  readonly timeoutMs: number;
  /** How windows are moved: see WindowPolicy, whose defaults hold where these are left out. */
  readonly holdMs?: number | undefined;
  readonly waitMs?: number | undefined;
  /**
   * Makes the software GPU compute wrongly (one bit of an output after each launch), to see that it
   * is found. Null, or left out: it does not. Refused where the backend is not `soft`.
   */
  readonly fault?: { readonly kind: "wrong-element"; readonly seed: number } | null;
  /** With slot `sim`: the file that says what machine is simulated. Left out: a calm one. */
  readonly scenario?: string | undefined;
  /** Takes what the owner does, a line a step, and what isBackendNote tells apart. */
  readonly log: Log;
};

/** What a die host's note on its backend begins with, e.g. `backend soft, since …`. */
const NOTE_PREFIX = "backend ";

/** Tells which backend `auto` stands for here, which every user should see, from a step's line. */
export const isBackendNote = (line: string): boolean => line.startsWith(NOTE_PREFIX);

export type OwnerRequestErrorCode =
  /** It cannot be had on this machine or not at all. */
  | "not_supported"
  /** No GPU of the backend that was asked for. */
  | "no_device";

export type OwnerRequestError = {
  readonly code: OwnerRequestErrorCode;
  /** One line that says what is missing and names the mend. */
  readonly message: string;
};

export type OpenedOwner = {
  readonly owner: Owner;
  /** Absolute path of the base payload, kernels/base.ptx. */
  readonly basePayload: string;
};

export type OpenOwner = (request: OwnerRequest) => Promise<Result<OpenedOwner, OwnerRequestError>>;
