import type { Situation } from "../situation.ts";
import { BUS } from "./bus.ts";
import { DRIVER } from "./driver.ts";
import { HEALTHY } from "./healthy.ts";
import { JOURNAL } from "./journal.ts";
import { LIBCUDA } from "./libcuda.ts";
import { LOG } from "./log.ts";
import { SHARED_HOST } from "./shared-host.ts";
import { SLOT } from "./slot.ts";
import { SURROUNDINGS } from "./surroundings.ts";

/** Every situation that the doctor is tried on. */
export const SITUATIONS: readonly Situation[] = [
  ...[...HEALTHY, ...BUS, ...DRIVER, ...SHARED_HOST, ...LIBCUDA],
  ...[...SLOT, ...LOG, ...JOURNAL, ...SURROUNDINGS],
];
