/** A bug in Holdfast itself: never caught to go on, only to report. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** Dies loudly when something that must hold does not. Never for input from outside. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new InvariantError(`invariant violated: ${message}`);
}

/** Marks a branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new InvariantError(`unreachable: ${JSON.stringify(value)}`);
}
