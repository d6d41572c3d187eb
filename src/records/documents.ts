/** What is made from the records, for tools/make-records.ts: the folder's second door. */
import { renderHeader, type Laid } from "./c-header.ts";
import { CBD2_DONE, CUBD_DONE } from "./done-records.ts";
import { CUBB2_JOB, CUBB_JOB } from "./job-records.ts";
import { LAUNCH_ARGUMENT, LAUNCH_DESCRIPTOR } from "./launch-records.ts";
import { renderTables } from "./markdown.ts";

/** Every record, in the order of the header and the document. */
export const RECORDS: readonly Laid[] = [
  ...[CUBB2_JOB, CBD2_DONE, CUBB_JOB, CUBD_DONE, LAUNCH_DESCRIPTOR, LAUNCH_ARGUMENT],
];

/** The text of include/holdfast/records.h. */
export const makeHeader = (): string => renderHeader(RECORDS);

/** The tables of docs/PROTOCOL.md by the names of their places. */
export const makeTables = (): ReadonlyMap<string, string> => renderTables(RECORDS);
