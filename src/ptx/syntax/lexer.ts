import { Refusal, type Position } from "./diagnostic.ts";
import type { Token, TokenKind } from "./token.ts";

const CODE = {
  tab: 9,
  newLine: 10,
  formFeed: 12,
  carriageReturn: 13,
  space: 32,
  quote: 34,
  slash: 47,
  star: 42,
  dot: 46,
  colon: 58,
  zero: 48,
} as const;

const DOTTED = /\.[A-Za-z0-9_$]+(?:::[A-Za-z0-9_$]+)*/y;
const WORD = /[A-Za-z0-9_$%]+/y;
const FLOAT_BITS = /0[fF][0-9a-fA-F]{8}(?![0-9A-Za-z_$])|0[dD][0-9a-fA-F]{16}(?![0-9A-Za-z_$])/y;
const FLOAT_DECIMAL = /[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+/y;
const INTEGER = /0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|[0-9]+U?/y;
const MARKS_OF_TWO = new Set(["<<", ">>", "&&", "||", "==", "!=", "<=", ">="]);
const MARKS = "{}()[]<>,;:@!|=+-*/%&^~?";

const isDigit = (code: number): boolean => code >= CODE.zero && code <= 57;

const isWordCode = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  isDigit(code) ||
  code === 95 ||
  code === 36;

/** Cuts PTX text into tokens, one at a time; a stray character is refused where it stands. */
export class Lexer {
  readonly #text: string;
  #offset = 0;
  #line = 1;
  #lineStart = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The next token; after the last one, `end` for ever. */
  next(): Token {
    this.#skipBlanks();
    const code = this.#text.charCodeAt(this.#offset);
    if (Number.isNaN(code)) return this.#cut("end", 0);
    if (code === CODE.dot) return this.#dotted();
    if (isDigit(code)) return this.#number();
    if (code === CODE.quote) return this.#string();
    const isRegister = code === 37 && isWordCode(this.#text.charCodeAt(this.#offset + 1));
    if (isRegister || isWordCode(code)) {
      return this.#cut("word", this.#match(WORD));
    }
    return this.#mark();
  }

  #position(): Position {
    return { line: this.#line, column: this.#offset - this.#lineStart + 1 };
  }

  #cut(kind: TokenKind, length: number): Token {
    const { line, column } = this.#position();
    const start = this.#offset;
    const end = start + length;
    this.#offset = end;
    return { kind, text: this.#text.slice(start, end), start, end, line, column };
  }

  #match(pattern: RegExp): number {
    pattern.lastIndex = this.#offset;
    return pattern.test(this.#text) ? pattern.lastIndex - this.#offset : 0;
  }

  #refuse(message: string): Refusal {
    return new Refusal("invalid_ptx", this.#position(), message);
  }

  #skipBlanks(): void {
    const text = this.#text;
    for (;;) {
      const code = text.charCodeAt(this.#offset);
      if (code === CODE.newLine) {
        this.#offset += 1;
        this.#line += 1;
        this.#lineStart = this.#offset;
      } else if (
        code === CODE.space ||
        code === CODE.tab ||
        code === CODE.carriageReturn ||
        code === CODE.formFeed
      ) {
        this.#offset += 1;
      } else if (code === CODE.slash && text.charCodeAt(this.#offset + 1) === CODE.slash) {
        const end = text.indexOf("\n", this.#offset);
        this.#offset = end < 0 ? text.length : end;
      } else if (code === CODE.slash && text.charCodeAt(this.#offset + 1) === CODE.star) {
        this.#skipLongComment();
      } else return;
    }
  }

  #skipLongComment(): void {
    const end = this.#text.indexOf("*/", this.#offset + 2);
    if (end < 0) throw this.#refuse("this comment is not closed; expected '*/'");
    for (;;) {
      const newLine = this.#text.indexOf("\n", this.#offset);
      if (newLine < 0 || newLine > end) break;
      this.#offset = newLine + 1;
      this.#line += 1;
      this.#lineStart = this.#offset;
    }
    this.#offset = end + 2;
  }

  #dotted(): Token {
    const length = this.#match(DOTTED);
    if (length === 0) throw this.#refuse("found '.', expected a name after it");
    return this.#cut("dotted", length);
  }

  #number(): Token {
    const bits = this.#match(FLOAT_BITS);
    if (bits > 0) return this.#cut("float", bits);
    const decimal = this.#match(FLOAT_DECIMAL);
    const length = decimal > 0 ? decimal : this.#match(INTEGER);
    if (isWordCode(this.#text.charCodeAt(this.#offset + length))) {
      const found = this.#text.slice(this.#offset, this.#offset + this.#match(WORD));
      throw this.#refuse(`found '${found.slice(0, 40)}', which is neither a number nor a name`);
    }
    return this.#cut(decimal > 0 ? "float" : "integer", length);
  }

  #string(): Token {
    const end = this.#text.indexOf('"', this.#offset + 1);
    const newLine = this.#text.indexOf("\n", this.#offset);
    if (end < 0 || (newLine >= 0 && newLine < end)) {
      throw this.#refuse("this string is not closed on its line");
    }
    return this.#cut("string", end + 1 - this.#offset);
  }

  #mark(): Token {
    const two = this.#text.slice(this.#offset, this.#offset + 2);
    if (MARKS_OF_TWO.has(two)) return this.#cut("mark", 2);
    const one = two.slice(0, 1);
    if (MARKS.includes(one)) return this.#cut("mark", 1);
    const code = this.#text.codePointAt(this.#offset) ?? 0;
    const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    throw this.#refuse(`found the character ${name}, which PTX does not use here`);
  }
}
