import { COMMAND_ARGUMENTS } from "./command-arguments.ts";
import { COMMANDS } from "./commands.ts";

/**
 * What Tab offers for a line typed so far: whole words, and the unfinished word that they would
 * replace (the pair that node:readline wants).
 */
export function completeLine(line: string, dies: readonly number[]): [string[], string] {
  const words = line.trimStart().split(/[ \t]+/);
  const unfinished = words.at(-1) ?? "";
  const offered = words.length <= 1 ? COMMANDS.flatMap((each) => each.names) : rest(words, dies);
  return [offered.filter((word) => word.startsWith(unfinished)).map(spaced), unfinished];
}

function rest(words: readonly string[], dies: readonly number[]): readonly string[] {
  const command = COMMANDS.find((each) => each.names.some((name) => name === words[0]));
  const argument = command?.arguments[words.length - 2];
  return argument === undefined ? [] : COMMAND_ARGUMENTS[argument].complete(dies);
}

/** A finished word is followed by the blank that the next one needs. */
const spaced = (word: string): string => `${word} `;
