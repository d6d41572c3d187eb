/** Turns argument texts into a job's arguments: looks at the files that they name. */
import { accessSync, constants, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { err, ok, type Result } from "../base/mod.ts";
import type { ByteSource, JobArgument, ScalarType } from "../owner/mod.ts";
import type { BufferInput, KernelArgumentText } from "./argument.ts";

/** An output that nobody gave a file: it goes to one of ours, and its first values are shown. */
export type Preview = {
  /** Argument number, from 1. */
  readonly argument: number;
  readonly path: string;
  readonly bytes: number;
  readonly type: ScalarType | null;
};

export type JobArguments = {
  readonly arguments: readonly JobArgument[];
  readonly previews: readonly Preview[];
};

export type Folders = {
  /** File names are relative to this. */
  readonly working: string;
  /** Previews go here; exists. */
  readonly preview: string;
};

/** Checks every file before anything runs. The error is one line that names file and mend. */
export function jobArguments(
  texts: readonly KernelArgumentText[],
  folders: Folders,
): Result<JobArguments, string> {
  const built: JobArgument[] = [];
  const previews: Preview[] = [];
  for (const [index, text] of texts.entries()) {
    const number = index + 1;
    if (text.kind === "scalar") {
      built.push(text);
      continue;
    }
    const source = sourceOf(text.input, folders.working);
    if (!source.ok) return err(`argument ${number}: ${source.error}`);
    const bytes = text.bytes ?? source.value.fileBytes;
    const target = targetPath(text, number, folders);
    if (!target.ok) return err(`argument ${number}: ${target.error}`);
    const path = target.value;
    if (path !== null && text.output.kind === "preview") {
      previews.push({ argument: number, path, bytes, type: text.elements?.type ?? null });
    }
    const file = path === null ? null : ({ kind: "file", path } as const);
    built.push({ kind: "buffer", bytes, source: source.value.source, target: file });
  }
  return ok({ arguments: built, previews });
}

/** Where the bytes come from, and how many a file holds. */
function sourceOf(
  input: BufferInput,
  folder: string,
): Result<{ readonly source: ByteSource; readonly fileBytes: number }, string> {
  if (input.kind !== "file") return ok({ source: input, fileBytes: 0 });
  const path = resolve(folder, input.path);
  const bytes = inputFileBytes(path);
  if (!bytes.ok) return bytes;
  const region = { path, offset: 0, bytes: bytes.value };
  return ok({ source: { kind: "file", region }, fileBytes: bytes.value });
}

/** The size of a file that can be read and holds something. */
export function inputFileBytes(path: string): Result<number, string> {
  try {
    const status = statSync(path);
    if (!status.isFile()) return err(`${path} is no regular file`);
    if (status.size === 0) return err(`${path} is empty`);
    accessSync(path, constants.R_OK);
    return ok(status.size);
  } catch (error) {
    return err(systemReason("read", path, error));
  }
}

/** Null where the bytes are not wanted back. */
function targetPath(
  text: Extract<KernelArgumentText, { kind: "buffer" }>,
  number: number,
  folders: Folders,
): Result<string | null, string> {
  switch (text.output.kind) {
    case "none":
      return ok(null);
    case "preview":
      return ok(join(folders.preview, `argument-${number}`));
    case "file":
      return writablePath(resolve(folders.working, text.output.path));
  }
}

function writablePath(path: string): Result<string, string> {
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status !== undefined && !status.isFile()) return err(`${path} is no regular file`);
    accessSync(status === undefined ? dirname(path) : path, constants.W_OK);
    return ok(path);
  } catch (error) {
    return err(systemReason("write", path, error));
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "it or its folder does not exist",
  ENOTDIR: "a part of its path is no folder",
  EACCES: "it is not permitted",
  EROFS: "the file system is read-only",
};

function systemReason(verb: "read" | "write", path: string, error: unknown): string {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  if (typeof code !== "string") throw error;
  return `cannot ${verb} ${path}: ${REASONS[code] ?? code}`;
}
