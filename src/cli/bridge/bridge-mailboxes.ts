/** The mailbox that the flags of `holdfast bridge` describe. Pure. */
import { resolve } from "node:path";
import { err, ok, type Result } from "../../base/mod.ts";
import { RAM_LOW_BYTES, type Mailbox, type MailboxDefaults } from "../../bridge/mod.ts";
import type { BridgeCommandFlags } from "./bridge-flags.ts";

/** What the one mailbox of the flags is called in log lines. */
const NAME = "mailbox";

/** Of a record's own wish: ten minutes, so that a guest cannot hold a die for a day. */
const TIMEOUT_MAX_MS_DEFAULT = 600_000;

/** The error is one line that names the mend. */
export function mailboxDefaults(flags: BridgeCommandFlags): Result<MailboxDefaults, string> {
  const { timeoutMs, timeoutMaxMs = Math.max(TIMEOUT_MAX_MS_DEFAULT, timeoutMs) } = flags;
  if (timeoutMaxMs < timeoutMs) {
    return err(
      `--timeout-max-ms ${timeoutMaxMs} is below --timeout-ms ${timeoutMs}, which records that ` +
        "name none get; raise the one or lower the other",
    );
  }
  const { verify, die = null, forgetSeq: forgetSequence } = flags;
  const dies = die === null ? null : [...new Set(die)];
  return ok({ verify, dies, timeoutMs, timeoutMaxMs, forgetSequence });
}

/** The flags' own mailbox: v1 where there is a RAM file, else v2. The error names the mend. */
export function mailboxOf(
  flags: BridgeCommandFlags,
  defaults: MailboxDefaults,
  folder: string,
): Result<Mailbox, string> {
  const { job, done, ram } = flags;
  if (job === undefined && ram === undefined && flags.in === undefined) {
    return err(
      "nothing to serve; give --job, --in, --out and --done (v2), or --job, --done and --ram " +
        "(v1), or --config FILE",
    );
  }
  if (job === undefined) return err("--job is missing: the file that job records come in");
  if (done === undefined) return err("--done is missing: the file that done records go to");
  const base = {
    name: NAME,
    job: resolve(folder, job),
    done: resolve(folder, done),
    ...defaults,
  };
  return ram === undefined
    ? mailboxV2(flags, base, folder)
    : mailboxV1(flags, { ...base, ram: resolve(folder, ram) });
}

type Base = MailboxDefaults & Pick<Mailbox, "name" | "job" | "done">;

function mailboxV2(flags: BridgeCommandFlags, base: Base, folder: string): Result<Mailbox, string> {
  const { out, modules, ramLowSize } = flags;
  if (ramLowSize !== undefined) {
    return err("--ram-low-size is of v1; give --ram too, or leave it out");
  }
  const missing = [flags.in === undefined ? "--in" : "", out === undefined ? "--out" : ""];
  if (flags.in === undefined || out === undefined) {
    return err(`${missing.filter(Boolean).join(" and ")} missing for v2; for v1 give --ram`);
  }
  return ok({
    ...base,
    version: 2,
    in: resolve(folder, flags.in),
    out: resolve(folder, out),
    modules: modules === undefined ? null : resolve(folder, modules),
  });
}

function mailboxV1(
  flags: BridgeCommandFlags,
  base: Base & { readonly ram: string },
): Result<Mailbox, string> {
  const surplus = (["in", "out", "modules"] as const).filter((name) => flags[name] !== undefined);
  if (surplus.length > 0) {
    const names = surplus.map((name) => `--${name}`).join(" and ");
    return err(
      `${names} of v2 beside --ram of v1, whose jobs name addresses in guest memory; ` +
        "leave out one or the other",
    );
  }
  const { ramLowSize: ramLowBytes = RAM_LOW_BYTES } = flags;
  return ok({ ...base, version: 1, ramLowBytes });
}

/** Flags that describe a mailbox, and so go ill with a config file. */
const MAILBOX_FLAGS = {
  job: "--job",
  in: "--in",
  out: "--out",
  done: "--done",
  modules: "--modules",
  ram: "--ram",
  ramLowSize: "--ram-low-size",
} as const satisfies Partial<Record<keyof BridgeCommandFlags, string>>;

/** What of the flags a config file leaves no room for; empty where nothing is. */
export function flagsBesideConfig(flags: BridgeCommandFlags): readonly string[] {
  const names = Object.keys(MAILBOX_FLAGS) as (keyof typeof MAILBOX_FLAGS)[];
  return names.filter((name) => flags[name] !== undefined).map((name) => MAILBOX_FLAGS[name]);
}
