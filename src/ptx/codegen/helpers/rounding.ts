import type { Rounding } from "../../ir/types.ts";

/** How helpers that take a rounding mode number them; `odd` keeps a sign and a sticky bit exact. */
export const ROUNDING_MODE = { rn: 0, rz: 1, rm: 2, rp: 3, odd: 4 } as const satisfies Record<
  Rounding | "odd",
  number
>;
