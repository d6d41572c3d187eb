/** One thing that was tried, what was seen, and whether that is right. */
export type CheckReport = {
  readonly name: string;
  readonly pass: boolean;
  readonly seen: string;
};

/** What a check found, before it is given its name. */
export type Finding = Omit<CheckReport, "name">;

/** The bridge gave no answer in time; there is no use in asking it more. */
export const NO_DONE: Finding = { pass: false, seen: "no done record came" };

/**
 * Passes where every claim is true; else `seen` goes on with the claims that are not.
 * `{ "status is ok": done.status === 0 }`
 */
export function judge(seen: string, claims: Readonly<Record<string, boolean>>): Finding {
  const broken = Object.entries(claims)
    .filter(([, isTrue]) => !isTrue)
    .map(([claim]) => claim);
  if (broken.length === 0) return { pass: true, seen };
  return { pass: false, seen: `${seen}; not true: ${broken.join(", ")}` };
}

export const verdict = (pass: boolean): string => (pass ? "PASS" : "FAIL");
