/** The greppable line of an executed job, read back: for its JSON twin and for who shows a part. */

/** One line's record (`CUBB2`, or `CUBB job` of v1) and its values, as text, by key. */
export type JobLine = {
  readonly record: "CUBB2" | "CUBB";
  readonly values: ReadonlyMap<string, string>;
};

const LINE = /^(CUBB2|CUBB job) (.*)$/;

const PAIR = /([a-z_]+)=("[^"]*"|[^ "]+)(?: |$)/g;

/** Null for any other line. */
export function parseJobLine(line: string): JobLine | null {
  const [, record, rest = ""] = LINE.exec(line) ?? [];
  if (record === undefined) return null;
  const pairs = [...rest.matchAll(PAIR)];
  const length = pairs.reduce((sum, [text]) => sum + text.length, 0);
  if (pairs.length === 0 || length !== rest.length) return null;
  const values = new Map(pairs.map(([, key = "", text = ""]) => [key, unquoted(text)]));
  return { record: record === "CUBB2" ? "CUBB2" : "CUBB", values };
}

const unquoted = (text: string): string => text.replace(/^"(.*)"$/, "$1");

/** What JSON takes for a number. A checksum of `nan` or `inf` is none, and stays text. */
const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;

/**
 * The line as one JSON object, keys in the line's order. Numbers keep all their digits, since a
 * sequence number may be larger than a double holds; a line that is none of ours becomes `line`.
 */
export function jobLineJson(line: string): string {
  const parsed = parseJobLine(line);
  if (parsed === null) return JSON.stringify({ line });
  const pairs = [...parsed.values].map(([key, text]) => {
    const isNumber = key !== "gpu" && key !== "status" && NUMBER.test(text);
    return `${JSON.stringify(key)}:${isNumber ? text : JSON.stringify(text)}`;
  });
  return `{"record":${JSON.stringify(parsed.record)},${pairs.join(",")}}`;
}
