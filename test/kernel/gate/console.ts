/** Reads the guest's console: guest/init and guest/run.sh say there what they do and how it ended. */

const MARK = "HOLDFAST-GUEST ";

/** The parts that a run may be asked for, in their order. */
export const OPTIONAL_PARTS = ["v1", "slot", "kills", "board", "v2", "locked"] as const;

/** Those that run where none is named; `kills` takes minutes. */
export const DEFAULT_PARTS = OPTIONAL_PARTS.filter((part) => part !== "kills");

export type OptionalPart = (typeof OPTIONAL_PARTS)[number];

/** The parts of a run in their order; each has to end with 0. */
export const partsOf = (wanted: readonly OptionalPart[]): readonly PartName[] => [
  ...(["init", "ram"] as const),
  ...OPTIONAL_PARTS.filter((part) => wanted.includes(part)),
  "taint",
];

/** Those that run node's tests, whose report counts them. */
export const SUITES = ["kills", "board", "v2", "locked"] as const satisfies readonly OptionalPart[];

export type PartName = "init" | "ram" | OptionalPart | "taint";

export type ConsoleEvent =
  | { readonly kind: "begin"; readonly part: string }
  | { readonly kind: "end"; readonly part: string; readonly code: number }
  /** The guest has run all parts. */
  | { readonly kind: "whole" }
  /** What a part printed. */
  | { readonly kind: "line"; readonly text: string };

/** What one line of the console says. The kernel's own messages may precede a mark. */
export function readConsoleLine(line: string): ConsoleEvent {
  const start = line.indexOf(MARK);
  if (start < 0) return { kind: "line", text: line };
  const said = line.slice(start + MARK.length).trim();
  if (said === "end") return { kind: "whole" };
  const [, part = "", code] = /^(\w+) (?:begin|rc=(\d+))/.exec(said) ?? [];
  if (part === "") return { kind: "line", text: said };
  return code === undefined ? { kind: "begin", part } : { kind: "end", part, code: Number(code) };
}

export type TestCounts = {
  readonly tests: number;
  readonly pass: number;
  readonly fail: number;
  readonly skipped: number;
};

/** The closing lines of node:test's spec reporter; null where they are not there. */
export function readTestCounts(lines: readonly string[]): TestCounts | null {
  const count = (name: string): number | null => {
    const found = lines.map((line) => new RegExp(`^\\S+ ${name} (\\d+)$`).exec(line.trim())?.[1]);
    const last = found.filter((each) => each !== undefined).at(-1);
    return last === undefined ? null : Number(last);
  };
  const [tests, pass, fail] = [count("tests"), count("pass"), count("fail")];
  if (tests === null || pass === null || fail === null) return null;
  return { tests, pass, fail, skipped: count("skipped") ?? 0 };
}
