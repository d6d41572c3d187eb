/**
 * Reads values out of parsed JSON. What is wrong is told by where it is, e.g. `faults[2].kind`, and
 * by what it may be instead; the first such complaint ends the reading.
 */
import { err, ok, type Result } from "../base/mod.ts";

/** A value that is not what it has to be. */
export class JsonComplaint extends Error {
  override readonly name = "JsonComplaint";
}

export class JsonReader {
  readonly #value: unknown;
  readonly #path: string;

  constructor(value: unknown, path = "") {
    this.#value = value;
    this.#path = path;
  }

  get isMissing(): boolean {
    return this.#value === undefined;
  }

  complain(wanted: string): never {
    const shown = this.isMissing ? "is missing" : `is ${JSON.stringify(this.#value)}`;
    throw new JsonComplaint(`${this.#path || "the scenario"} ${shown}; ${wanted}`);
  }

  /** The fields of an object; one that is none of `known` is refused. */
  fields<K extends string>(known: readonly K[]): Readonly<Record<K, JsonReader>> {
    const value = this.#value;
    if (typeof value !== "object" || value === null || Array.isArray(value))
      this.complain("it has to be an object");
    const prefix = this.#path === "" ? "" : `${this.#path}.`;
    for (const name of Object.keys(value)) {
      if ((known as readonly string[]).includes(name)) continue;
      throw new JsonComplaint(`${prefix}${name} is not known; use one of ${known.join(", ")}`);
    }
    const field = (name: K): JsonReader =>
      new JsonReader((value as Record<string, unknown>)[name], prefix + name);
    return Object.fromEntries(known.map((name) => [name, field(name)])) as Record<K, JsonReader>;
  }

  items(): readonly JsonReader[] {
    const value = this.#value;
    if (!Array.isArray(value)) this.complain("it has to be a list");
    return value.map((item, at) => new JsonReader(item, `${this.#path}[${at}]`));
  }

  text(): string {
    return typeof this.#value === "string" ? this.#value : this.complain("it has to be a text");
  }

  flag(): boolean {
    return typeof this.#value === "boolean" ? this.#value : this.complain("use true or false");
  }

  number(from: number, to: number): number {
    const value = this.#value;
    if (typeof value === "number" && value >= from && value <= to) return value;
    return this.complain(`use a number from ${from} to ${to}`);
  }

  whole(from: number, to: number): number {
    const value = this.#value;
    if (Number.isInteger(value) && Number(value) >= from && Number(value) <= to)
      return Number(value);
    return this.complain(`use a whole number from ${from} to ${to}`);
  }

  oneOf<K extends string>(known: readonly K[]): K {
    const found = known.find((name) => name === this.#value);
    return found ?? this.complain(`use one of ${known.join(", ")}`);
  }

  /** A number, or a range of two of which the first is not above the second. */
  range(to: number): number | readonly [number, number] {
    if (!Array.isArray(this.#value)) return this.number(0, to);
    const ends = this.items().map((item) => item.number(0, to));
    const [first, second] = ends;
    if (ends.length === 2 && first !== undefined && second !== undefined && first <= second)
      return [first, second];
    return this.complain("a range is [from, to], the smaller number first");
  }

  /** What `read` makes of it, or `otherwise` where it is missing. */
  or<T>(otherwise: T, read: (reader: JsonReader) => T): T {
    return this.isMissing ? otherwise : read(this);
  }
}

/** Runs a reading of `text`, and turns its complaint into an error. */
export function readJson<T>(text: string, read: (reader: JsonReader) => T): Result<T, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return err(`not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  try {
    return ok(read(new JsonReader(value)));
  } catch (error) {
    if (error instanceof JsonComplaint) return err(error.message);
    throw error;
  }
}
