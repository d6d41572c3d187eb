/** The C header of the records. */
import { CRC32C_POLYNOMIAL } from "./crc32c.ts";
import type { Field } from "./field.ts";
import {
  ARGUMENT_MEANING,
  JOB_FLAG_MEANING,
  OPERATION_MEANING,
  STATUS_MEANING,
} from "./meanings.ts";
import { snakeCase, type FieldTable, type RecordDeclaration } from "./record.ts";
import { ARGUMENT_KIND, ARGUMENT_TYPE, JOB_FLAG, OPERATION, STATUS } from "./tables.ts";

/** A record, as far as its layout goes. */
export type Laid = RecordDeclaration<FieldTable> & {
  readonly offsets: Readonly<Record<string, number>>;
};

const COLUMNS_MAX = 100;

const BEGIN = `/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The records of Holdfast's bridge; docs/PROTOCOL.md says what they mean. Frozen: none of them will
 * ever change. Made from src/records by tools/make-records.ts; do not edit.
 *
 * For C99 and later, C++11 and later, and the Linux kernel (5.1 and later). All fields are
 * little-endian and naturally aligned, so a struct is the record, byte for byte. To write a record
 * with a checksum, clear it, fill it, then seal it:
 *
 *     struct hf_cubb2_job job;
 *     memset(&job, 0, sizeof job);
 *     memcpy(job.magic, HF_CUBB2_JOB_MAGIC, sizeof job.magic);
 *     ...
 *     job.crc32c = hf_crc32c(&job, offsetof(struct hf_cubb2_job, crc32c));
 */
#ifndef HOLDFAST_RECORDS_H
#define HOLDFAST_RECORDS_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>
/* The kernel has no floating point: the bits of a double. */
typedef uint64_t hf_f64;
#else
#include <stddef.h>
#include <stdint.h>
typedef double hf_f64;
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the records are little-endian: on this machine each field must be swapped, and none is"
#endif

#if defined(__KERNEL__) || (defined(__cplusplus) && __cplusplus >= 201103L)
#define HF_ASSERT(name, condition) static_assert(condition, #name)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define HF_ASSERT(name, condition) _Static_assert(condition, #name)
#else
#define HF_ASSERT(name, condition) typedef char hf_assert_##name[(condition) ? 1 : -1]
#endif
#define HF_ASSERT_OFFSET(record, field, offset) \\
    HF_ASSERT(record##_##field, offsetof(struct hf_##record, field) == (offset))
`;

const END = `#undef HF_ASSERT_OFFSET
#undef HF_ASSERT

#endif
`;

/** The whole header. */
export function renderHeader(records: readonly Laid[]): string {
  const sections = [
    BEGIN,
    renderConstants(
      "op: what is to be done.",
      "HF_OP_",
      OPERATION,
      (name) => OPERATION_MEANING[name].effect,
    ),
    renderConstants(
      "status: how it ended.",
      "HF_STATUS_",
      STATUS,
      (name) => STATUS_MEANING[name].cause,
    ),
    renderConstants(
      "flags of a CUBB2 job.",
      "HF_FLAG_",
      JOB_FLAG,
      (name) => JOB_FLAG_MEANING[name],
    ),
    renderConstants(
      "kind of a launch argument.",
      "HF_KIND_",
      ARGUMENT_KIND,
      (name) => ARGUMENT_MEANING[name].effect,
    ),
    renderConstants("type of a launch argument.", "HF_TYPE_", ARGUMENT_TYPE, () => null),
    ...records.map(renderStruct),
    renderStatusName(),
    renderCrc32c(),
    END,
  ];
  return sections.join("\n");
}

/** A comment of one line, or of as many as it needs. */
function comment(indent: string, text: string): string[] {
  const plain = text.replaceAll("`", "'");
  const whole = `${indent}/* ${plain} */`;
  if (whole.length <= COLUMNS_MAX) return [whole];
  const lines = [`${indent}/*`];
  let line = `${indent} *`;
  for (const word of plain.split(" ")) {
    if (line.length + 1 + word.length > COLUMNS_MAX) {
      lines.push(line);
      line = `${indent} *`;
    }
    line += ` ${word}`;
  }
  return [...lines, line, `${indent} */`];
}

function renderConstants<Name extends string>(
  title: string,
  prefix: string,
  table: Readonly<Record<Name, number>>,
  meaningOf: (name: Name) => string | null,
): string {
  const names = Object.keys(table) as Name[];
  const lines = names.flatMap((name) => {
    const meaning = meaningOf(name);
    const define = `#define ${prefix}${name.toUpperCase()} ${String(table[name])}`;
    return [...(meaning === null ? [] : comment("", meaning)), define];
  });
  return [`/* ${title} */`, "", ...lines, ""].join("\n");
}

function renderStruct(record: Laid): string {
  const { cName, bytes, fields, offsets, purpose } = record;
  const short = cName.replace(/^hf_/, "");
  const entries = Object.entries(fields);
  const members = entries.flatMap(([name, field]) => [
    ...comment("    ", `${String(offsets[name])}: ${field.meaning}`),
    `    ${memberOf(snakeCase(name), field)};`,
  ]);
  const asserts = entries.map(
    ([name]) => `HF_ASSERT_OFFSET(${short}, ${snakeCase(name)}, ${String(offsets[name])});`,
  );
  return [
    ...entries.flatMap(([name, field]) => fixedDefines(cName.toUpperCase(), name, field)),
    `#define ${cName.toUpperCase()}_BYTES ${String(bytes)}`,
    "",
    ...comment("", purpose),
    `struct ${cName} {`,
    ...members,
    "};",
    "",
    `HF_ASSERT(${short}, sizeof(struct ${cName}) == ${String(bytes)});`,
    ...asserts,
    "",
  ].join("\n");
}

const memberOf = (name: string, { c }: Field): string =>
  c.count === null ? `${c.name} ${name}` : `${c.name} ${name}[${String(c.count)}]`;

/** What a producer must put into the fields that are always the same. */
function fixedDefines(prefix: string, name: string, field: Field): string[] {
  if (field.role === "version") return [`#define ${prefix}_VERSION ${wholeNumber(field.content)}`];
  if (field.role !== "magic") return [];
  if (field.c.count === null) {
    const number = new DataView(field.content.slice().buffer).getUint32(0, true);
    return [`#define ${prefix}_MAGIC 0x${number.toString(16)}u`];
  }
  // The NUL that ends a C string is the last byte of the field.
  const characters = Array.from(field.content.subarray(0, -1), (byte) =>
    byte === 0 ? "\\0" : String.fromCharCode(byte),
  ).join("");
  return [
    ...comment(
      "",
      `${snakeCase(name)}: ${String(field.bytes)} bytes, the string's own NUL included`,
    ),
    `#define ${prefix}_MAGIC "${characters}"`,
  ];
}

const wholeNumber = (content: Uint8Array): string =>
  String(content.reduceRight((sum, byte) => sum * 256 + byte, 0));

function renderStatusName(): string {
  const cases = Object.keys(STATUS).flatMap((name) => [
    `    case HF_STATUS_${name.toUpperCase()}:`,
    `        return "${name}";`,
  ]);
  return [
    "/* The status's name, as the daemon's log has it; NULL for a number that has none. */",
    "static inline const char *hf_status_name(uint32_t status)",
    "{",
    "    switch (status) {",
    ...cases,
    "    default:",
    "        return NULL;",
    "    }",
    "}",
    "",
  ].join("\n");
}

function renderCrc32c(): string {
  const table = Array.from({ length: 16 }, (_, nibble) => {
    let crc = nibble;
    for (let bit = 0; bit < 4; bit++) crc = (crc >>> 1) ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
    return `0x${(crc >>> 0).toString(16).padStart(8, "0")}u`;
  });
  const rows = [0, 4, 8, 12].map((row) => `        ${table.slice(row, row + 4).join(", ")},`);
  return [
    "/* CRC-32C (Castagnoli) of so many bytes; of the characters 123456789 it is 0xe3069283. */",
    "static inline uint32_t hf_crc32c(const void *data, size_t bytes)",
    "{",
    "    /* What four steps of the division leave of each half byte. */",
    "    static const uint32_t table[16] = {",
    ...rows,
    "    };",
    "    const uint8_t *byte = (const uint8_t *)data;",
    "    uint32_t crc = 0xffffffffu;",
    "",
    "    for (; bytes > 0; bytes--, byte++) {",
    "        crc ^= *byte;",
    "        crc = (crc >> 4) ^ table[crc & 15];",
    "        crc = (crc >> 4) ^ table[crc & 15];",
    "    }",
    "    return ~crc;",
    "}",
    "",
  ].join("\n");
}
