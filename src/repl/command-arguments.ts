/** The arguments that commands take: how each is called, read, completed, and what it may be. */
import { err, ok, type Result } from "../base/mod.ts";
import { DIES_MAX, WORK_ITERS_MAX } from "../owner/mod.ts";
import { printable } from "./printable.ts";

const SEED_MAX = 2 ** 32 - 1;

export type CommandArgument = {
  /** The number, or what is wrong with it and what it may be. */
  readonly parse: (text: string) => Result<number, string>;
  /** What Tab offers; `dies` are those that the owner knows. */
  readonly complete: (dies: readonly number[]) => readonly string[];
};

export type CommandArgumentName = "die" | "seed" | "iters";

export const COMMAND_ARGUMENTS: Readonly<Record<CommandArgumentName, CommandArgument>> = {
  die: {
    parse: (text) => {
      const die = readDecimal(text);
      if (die !== null && die < DIES_MAX) return ok(die);
      return err(`bad die '${printable(text)}' (range 0..${DIES_MAX - 1}); 'discover' lists them`);
    },
    complete: (dies) => dies.map(String),
  },
  seed: {
    parse: (text) => {
      const seed = readAnyBase(text);
      if (seed !== null && seed <= SEED_MAX) return ok(seed);
      return err(`bad seed '${printable(text)}' (0..${SEED_MAX}, or hex from 0x0 to 0xffffffff)`);
    },
    complete: () => [],
  },
  iters: {
    parse: (text) => {
      const iters = readDecimal(text);
      if (iters !== null && iters <= WORK_ITERS_MAX) return ok(iters);
      return err(
        `bad iters '${printable(text)}' (whole number 0..${WORK_ITERS_MAX}: ` +
          "from 2^24 on an fp32 sum is no longer exact)",
      );
    },
    complete: () => [],
  },
};

function readDecimal(text: string): number | null {
  return /^[0-9]+$/.test(text) ? Number(text) : null;
}

/** As strtoul reads base 0: decimal, hex after `0x`, octal after `0`. No sign: it would wrap. */
function readAnyBase(text: string): number | null {
  if (/^0x[0-9a-f]+$/i.test(text)) return Number(text);
  if (/^0[0-7]+$/.test(text)) return Number(`0o${text.slice(1)}`);
  return /^(0|[1-9][0-9]*)$/.test(text) ? Number(text) : null;
}
