import type { Position } from "./diagnostic.ts";

/**
 * What the lexer cuts PTX text into. `word`: an opcode, a name, a register (`%r1`) or a label.
 * `dotted`: a directive, a type or a modifier, with its dot (`.global`, `.shared::cta`).
 * `end` stands once, after the last token.
 */
export type TokenKind = "word" | "dotted" | "integer" | "float" | "string" | "mark" | "end";

/** `start` and `end` are offsets into the text, in UTF-16 code units, and `end` is not included. */
export type Token = Position & {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
};

/** How messages name a token. */
export function describeToken(token: Token): string {
  if (token.kind === "end") return "the end of the text";
  const text = token.text.length > 40 ? `${token.text.slice(0, 40)}…` : token.text;
  return `'${text}'`;
}
