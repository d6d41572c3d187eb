/** The longest piece of somebody's input that a log line repeats, in characters. */
export const ECHO_CHARACTERS_MAX = 64;

/**
 * Text from outside, fit to stand in one log line: control, format and separator characters are
 * written as escapes, so that no input can move the cursor, end the line or hide a part of it.
 */
export function printable(text: string): string {
  const characters = Array.from(text);
  const shown = characters.slice(0, ECHO_CHARACTERS_MAX).map(escapeCharacter).join("");
  return characters.length > ECHO_CHARACTERS_MAX ? `${shown}…` : shown;
}

function escapeCharacter(character: string): string {
  if (character === "\\") return "\\\\";
  if (!/[\p{C}\p{Zl}\p{Zp}]/u.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  return code <= 0xff
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u{${code.toString(16).padStart(4, "0")}}`;
}
