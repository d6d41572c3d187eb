import { Refusal, type DiagnosticCode, type Position } from "./diagnostic.ts";
import { Lexer } from "./lexer.ts";
import { describeToken, type Token, type TokenKind } from "./token.ts";

/** Walks the tokens of one text, with one token of foresight. */
export class Cursor {
  readonly text: string;
  readonly #lexer: Lexer;
  #current: Token;
  #following: Token;

  constructor(text: string) {
    this.text = text;
    this.#lexer = new Lexer(text);
    this.#current = this.#lexer.next();
    this.#following = this.#lexer.next();
  }

  get current(): Token {
    return this.#current;
  }

  get following(): Token {
    return this.#following;
  }

  /** Where the current token stands: an object of its own, so that a tree does not keep tokens. */
  get position(): Position {
    const { line, column } = this.#current;
    return { line, column };
  }

  /** Steps over the current token and gives it back. */
  take(): Token {
    const token = this.#current;
    this.#current = this.#following;
    if (token.kind !== "end") this.#following = this.#lexer.next();
    return token;
  }

  is(text: string): boolean {
    return this.#current.text === text && this.#current.kind !== "string";
  }

  isKind(kind: TokenKind): boolean {
    return this.#current.kind === kind;
  }

  /** Steps over `text` if it is here. */
  accept(text: string): boolean {
    if (!this.is(text)) return false;
    this.take();
    return true;
  }

  expect(text: string): Token {
    if (!this.is(text)) throw this.unexpected(`'${text}'`);
    return this.take();
  }

  expectKind(kind: TokenKind, what: string): Token {
    if (this.#current.kind !== kind) throw this.unexpected(what);
    return this.take();
  }

  /** What is here is not what may stand here. */
  unexpected(expected: string): Refusal {
    const found = describeToken(this.#current);
    return new Refusal("invalid_ptx", this.#current, `found ${found}, expected ${expected}`);
  }

  refuse(code: DiagnosticCode, message: string): Refusal {
    return new Refusal(code, this.#current, message);
  }
}
