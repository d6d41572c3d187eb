/** A place in PTX text; line and column count from 1. */
export type Position = { readonly line: number; readonly column: number };

/**
 * Why PTX text is refused. `invalid_ptx`: it breaks PTX's own rules. `unsupported_*`: it may well
 * be right, but neither engine can run it. `limit_exceeded`: past one of our own limits.
 */
export type DiagnosticCode =
  | "invalid_ptx"
  | "unsupported_ptx_version"
  | "unsupported_instruction"
  | "unsupported_feature"
  | "limit_exceeded";

/** What is wrong with PTX text, where, and what would be right. */
export type Diagnostic = Position & {
  readonly code: DiagnosticCode;
  readonly fileName: string;
  readonly message: string;
};

/** `file.ptx:12:5: message`, the form that editors and terminals turn into a link. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const { fileName, line, column, message } = diagnostic;
  return `${fileName}:${String(line)}:${String(column)}: ${message}`;
}

/**
 * Carries a diagnostic from deep inside the parser or the lowering to the function that was called
 * from outside, which turns it into a Result. It never leaves this folder's exported functions.
 */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly code: DiagnosticCode;
  readonly position: Position;

  constructor(code: DiagnosticCode, position: Position, message: string) {
    super(message);
    this.code = code;
    this.position = position;
  }
}

/** The diagnostic that a refusal stands for. */
export function toDiagnostic(refusal: Refusal, fileName: string): Diagnostic {
  const { line, column } = refusal.position;
  return { code: refusal.code, fileName, line, column, message: refusal.message };
}
