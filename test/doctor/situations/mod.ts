import type { Situation } from "../situation.ts";
import { HEALTHY } from "./healthy.ts";
import { JOURNAL } from "./journal.ts";

/** Every situation that the doctor is tried on. */
export const SITUATIONS: readonly Situation[] = [...HEALTHY, ...JOURNAL];
