/** The tables of docs/PROTOCOL.md, laid out as the formatter of the documents wants them. */
import type { Laid } from "./c-header.ts";
import {
  ARGUMENT_MEANING,
  JOB_FLAG_MEANING,
  OPERATION_MEANING,
  STATUS_MEANING,
} from "./meanings.ts";
import { snakeCase } from "./record.ts";
import {
  ARGUMENT_KIND,
  ARGUMENT_TYPE,
  ARGUMENT_TYPE_BYTES,
  JOB_FLAG,
  OPERATION,
  STATUS,
} from "./tables.ts";

/** Each table by the name that its place in the document has. */
export function renderTables(records: readonly Laid[]): ReadonlyMap<string, string> {
  return new Map([
    ...records.map((record) => [record.cName, fieldTable(record)] as const),
    ["operations", operationTable()],
    ["statuses", statusTable()],
    ["flags", flagTable()],
    ["kinds", kindTable()],
    ["types", typeTable()],
  ]);
}

function fieldTable({ fields, offsets }: Laid): string {
  const rows = Object.entries(fields).map(([name, { type, meaning }]) => [
    ...[String(offsets[name]), type, snakeCase(name), meaning],
  ]);
  return renderTable(["off", "type", "field", "meaning"], rows);
}

function operationTable(): string {
  const rows = entriesOf(OPERATION).map(([name, operation]) => {
    const { effect, inBytes, outBytes } = OPERATION_MEANING[name];
    return [String(operation), name, effect, inBytes, outBytes];
  });
  return renderTable(["op", "name", "what it does", "in_bytes", "out_bytes"], rows);
}

function statusTable(): string {
  const rows = entriesOf(STATUS).map(([name, status]) => {
    const { cause, mend } = STATUS_MEANING[name];
    return [String(status), name, cause, mend];
  });
  return renderTable(["status", "name", "cause", "mend"], rows);
}

function flagTable(): string {
  const rows = entriesOf(JOB_FLAG).map(([name, flag]) => [
    ...[String(flag), name.toUpperCase(), JOB_FLAG_MEANING[name]],
  ]);
  return renderTable(["flag", "name", "meaning"], rows);
}

function kindTable(): string {
  const rows = entriesOf(ARGUMENT_KIND).map(([name, kind]) => {
    const { effect, type, offset, bytes, value } = ARGUMENT_MEANING[name];
    return [String(kind), name, effect, type, offset, bytes, value];
  });
  return renderTable(
    ["kind", "name", "what the kernel gets", "type", "offset", "bytes", "value"],
    rows,
  );
}

function typeTable(): string {
  const entries = entriesOf(ARGUMENT_TYPE);
  return renderTable(
    ["type", ...entries.map(([, type]) => String(type))],
    [
      ["name", ...entries.map(([name]) => name)],
      ["bytes", ...entries.map(([name]) => String(ARGUMENT_TYPE_BYTES[name]))],
    ],
  );
}

const entriesOf = <Name extends string>(
  table: Readonly<Record<Name, number>>,
): readonly (readonly [Name, number])[] => Object.entries(table) as [Name, number][];

/** A Markdown table, its columns as wide as what is in them. */
function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(3, title.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}
