/**
 * Several mailboxes from one JSON file:
 *
 *   { "bridges": [
 *       { "name": "vm1", "job": "vm1/job", "in": "vm1/in", "out": "vm1/out", "done": "vm1/done" },
 *       { "name": "vm2", "job": "vm2/job", "done": "vm2/done", "ram": "/dev/shm/vm2-ram" } ] }
 *
 * A mailbox with `ram` is one of v1. Paths are relative to the file's own folder. Nothing is
 * guessed: a key that is not known is refused, since it is a known one misspelt.
 */
import { readFileSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

import { err, fileCall, FileError, ok, type Result } from "../base/mod.ts";
import { RAM_LOW_BYTES } from "./guest-address.ts";
import type { Mailbox, VerifyMode } from "./mailbox.ts";

/** What a mailbox has that its entry does not say otherwise. */
export type MailboxDefaults = Pick<
  Mailbox,
  "verify" | "dies" | "timeoutMs" | "timeoutMaxMs" | "forgetSequence"
>;

/** Far above any list of a host's guests; what is longer is another file. */
const CONFIG_BYTES_MAX = 1024 * 1024;

/** Reads the file. The error is one line that says where it is wrong, and the mend. */
export function readMailboxes(
  path: string,
  defaults: MailboxDefaults,
): Result<readonly Mailbox[], string> {
  let text: string;
  try {
    const { size } = fileCall("stat", path, () => statSync(path));
    if (size > CONFIG_BYTES_MAX) {
      return err(`${path} has ${size} bytes; a config file has at most ${CONFIG_BYTES_MAX}`);
    }
    text = fileCall("read", path, () => readFileSync(path, "utf8"));
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    return err(`cannot ${error.message}; --config names a JSON file`);
  }
  const parsed = parseMailboxes(text, { folder: dirname(path), defaults });
  return parsed.ok ? parsed : err(`${path}: ${parsed.error}`);
}

type Surroundings = { readonly folder: string; readonly defaults: MailboxDefaults };

/** The same, of text; paths are relative to `folder`. */
export function parseMailboxes(
  text: string,
  surroundings: Surroundings,
): Result<readonly Mailbox[], string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Node quotes the text around the place, line ends and all.
    const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, " ") : "";
    return err(`this is no JSON: ${reason}`);
  }
  if (!isTable(value) || !Array.isArray(value["bridges"]) || value["bridges"].length === 0) {
    return err('the file holds {"bridges": [ … ]}, with an entry for each mailbox');
  }
  const surplus = Object.keys(value).find((key) => key !== "bridges");
  if (surplus !== undefined) return err(`unknown key ${quote(surplus)} beside "bridges"`);
  const mailboxes: Mailbox[] = [];
  for (const [index, entry] of (value["bridges"] as readonly unknown[]).entries()) {
    const mailbox = readEntry(entry, surroundings);
    if (!mailbox.ok) return err(`bridges[${index}]${nameNote(entry)}: ${mailbox.error}`);
    mailboxes.push(mailbox.value);
  }
  return ok(mailboxes);
}

type Table = Readonly<Record<string, unknown>>;

const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const quote = (text: string): string => JSON.stringify(text);

const nameNote = (entry: unknown): string =>
  isTable(entry) && typeof entry["name"] === "string" ? ` (${entry["name"]})` : "";

const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

const VERIFY_MODES: readonly unknown[] = ["auto", "full", "sample", "none"] satisfies VerifyMode[];

type FieldRule = {
  /** Of which it is; null: of both. */
  readonly version: 1 | 2 | null;
  readonly isRequired: boolean;
  readonly isRight: (value: unknown) => boolean;
  /** What it is, where it is not. */
  readonly what: string;
};

const path = (version: FieldRule["version"], isRequired = true): FieldRule => ({
  version,
  isRequired,
  isRight: isText,
  what: "a path, as text",
});

const FIELDS = {
  name: { version: null, isRequired: true, isRight: isText, what: "text" },
  job: path(null),
  done: path(null),
  in: path(2),
  out: path(2),
  modules: path(2, false),
  ram: path(1),
  ram_low_bytes: { version: 1, isRequired: false, isRight: isCount, what: "a number of bytes" },
  verify: {
    version: null,
    isRequired: false,
    what: VERIFY_MODES.map(String).join(", "),
    isRight: (value) => VERIFY_MODES.includes(value),
  },
  dies: {
    version: null,
    isRequired: false,
    what: "a list of numbers, e.g. [0, 1]",
    isRight: (value) => Array.isArray(value) && value.every(isCount),
  },
  timeout_ms: { version: null, isRequired: false, isRight: isCount, what: "milliseconds" },
  timeout_max_ms: { version: null, isRequired: false, isRight: isCount, what: "milliseconds" },
} as const satisfies Readonly<Record<string, FieldRule>>;

/** An entry whose fields were judged. */
type Entry = {
  readonly name: string;
  readonly job: string;
  readonly done: string;
  readonly in: string;
  readonly out: string;
  readonly modules?: string;
  readonly ram?: string;
  readonly ram_low_bytes?: number;
  readonly verify?: VerifyMode;
  readonly dies?: readonly number[];
  readonly timeout_ms?: number;
  readonly timeout_max_ms?: number;
};

function readEntry(value: unknown, { folder, defaults }: Surroundings): Result<Mailbox, string> {
  if (!isTable(value)) return err('an entry is {"name": …, "job": …, …}');
  const version = "ram" in value ? 1 : 2;
  const fault = findFieldFault(value, version);
  if (fault !== null) return err(fault);
  const entry = value as unknown as Entry;
  const at = (file: string): string => resolve(folder, file);
  const { verify = defaults.verify, dies = defaults.dies } = entry;
  const { timeout_ms: timeoutMs = defaults.timeoutMs } = entry;
  // What an entry says alone must not run against what it did not say.
  const { timeout_max_ms: timeoutMaxMs = Math.max(defaults.timeoutMaxMs, timeoutMs) } = entry;
  const base = {
    name: entry.name,
    job: at(entry.job),
    done: at(entry.done),
    verify,
    dies,
    timeoutMs,
    timeoutMaxMs,
    forgetSequence: defaults.forgetSequence,
  };
  if (entry.ram !== undefined) {
    const { ram, ram_low_bytes: ramLowBytes = RAM_LOW_BYTES } = entry;
    return ok({ ...base, version: 1, ram: at(ram), ramLowBytes });
  }
  const modules = entry.modules === undefined ? null : at(entry.modules);
  return ok({ ...base, version: 2, in: at(entry.in), out: at(entry.out), modules });
}

/** What is wrong with an entry's keys, or with the type of one of them. */
function findFieldFault(entry: Table, version: 1 | 2): string | null {
  const rules: Readonly<Record<string, FieldRule>> = FIELDS;
  const isOfVersion = (rule: FieldRule): boolean =>
    rule.version === null || rule.version === version;
  for (const [key, value] of Object.entries(entry)) {
    const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
    if (rule === undefined) {
      const known = Object.keys(rules).filter((name) => isOfVersion(rules[name] ?? path(null)));
      return `unknown key ${quote(key)}; there are ${known.join(", ")}`;
    }
    if (!isOfVersion(rule)) {
      const other = `"ram" makes a mailbox one of v1`;
      return `"${key}" is of v${rule.version ?? ""}, and ${other}: leave out one or the other`;
    }
    if (!rule.isRight(value)) {
      return `"${key}" is ${rule.what}, not ${JSON.stringify(value).slice(0, 80)}`;
    }
  }
  const missing = Object.entries(rules).filter(
    ([key, rule]) => rule.isRequired && isOfVersion(rule) && !Object.hasOwn(entry, key),
  );
  if (missing.length === 0) return null;
  const names = missing.map(([key]) => `"${key}"`).join(", ");
  const mend = version === 2 ? '; a mailbox of v1 has "ram" instead of "in" and "out"' : "";
  return `${names} missing${mend}`;
}
