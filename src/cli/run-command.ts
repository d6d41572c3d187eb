/** `holdfast run`: any kernel on any backend, with files or generated patterns as arguments. */
import { closeSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import type { Dim3 } from "../gpu/mod.ts";
import {
  SCALAR_BYTES,
  type Job,
  type JobMeasures,
  type JobResult,
  type JobStatus,
} from "../owner/mod.ts";
import { describeCause } from "../owner/mod.ts";
import { parseArguments, type KernelArgumentText } from "./argument.ts";
import type { CommandFunction } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import type { OutputFlags, OwnerFlags } from "./flags.ts";
import { inputFileBytes, jobArguments, type JobArguments, type Preview } from "./job-files.ts";
import { complain, withOwner } from "./owner-session.ts";
import { PREVIEW_BYTES_MAX, previewValues } from "./preview.ts";
import { withScratchFolder } from "./scratch-folder.ts";
import type { Surroundings } from "./surroundings.ts";
import { bytesText, durationText, rateText } from "./units.ts";

export type RunCommandFlags = OwnerFlags &
  OutputFlags & {
    readonly kernel: string;
    readonly grid: Dim3;
    readonly block: Dim3;
    readonly shared: number;
    readonly die: number;
    readonly arg: readonly string[] | undefined;
  };

const EXIT_OF: Readonly<Record<JobStatus, ExitCode>> = {
  ok: EXIT.ok,
  refused: EXIT.badUsage,
  io_error: EXIT.badUsage,
  device_error: EXIT.deviceFault,
  timeout: EXIT.deviceFault,
  lost: EXIT.deviceFault,
};

/** Causes of a refusal that have nothing to do with the job. */
const EXIT_OF_CAUSE: Readonly<Partial<Record<string, ExitCode>>> = {
  no_device: EXIT.noDevice,
  no_such_die: EXIT.noDevice,
  bring_up_failed: EXIT.deviceFault,
  slot_failed: EXIT.deviceFault,
  die_failed: EXIT.deviceFault,
};

export const runCommand: CommandFunction<RunCommandFlags, [string]> = async (
  surroundings,
  flags,
  file,
) => {
  const path = resolve(surroundings.workingDirectory, file);
  const readable = inputFileBytes(path);
  const texts = readable.ok ? parseArguments(flags.arg ?? []) : readable;
  if (!texts.ok) {
    complain(surroundings, texts.error);
    return EXIT.badUsage;
  }
  return withScratchFolder(surroundings, (previewFolder) =>
    runJob(surroundings, flags, { path, texts: texts.value, previewFolder }),
  );
};

async function runJob(
  surroundings: Surroundings,
  flags: RunCommandFlags,
  plan: {
    readonly path: string;
    readonly texts: readonly KernelArgumentText[];
    readonly previewFolder: string;
  },
): Promise<ExitCode> {
  const folders = { working: surroundings.workingDirectory, preview: plan.previewFolder };
  const built = jobArguments(plan.texts, folders);
  if (!built.ok) {
    complain(surroundings, built.error);
    return EXIT.badUsage;
  }
  const job: Job = {
    module: { name: plan.path, path: plan.path },
    entry: flags.kernel,
    grid: flags.grid,
    block: flags.block,
    sharedBytes: flags.shared,
    timeoutMs: flags.timeoutMs,
    arguments: built.value.arguments,
  };
  return withOwner(surroundings, flags, async ({ owner }) => {
    const result = await owner.run(flags.die, job);
    report(surroundings, flags, { job, result, built: built.value });
    if (result.status === "ok") return EXIT.ok;
    return EXIT_OF_CAUSE[result.cause.name] ?? EXIT_OF[result.status];
  });
}

type Outcome = { readonly job: Job; readonly result: JobResult; readonly built: JobArguments };

/** An output's first values. */
type Shown = { readonly preview: Preview; readonly values: readonly string[] };

function report(surroundings: Surroundings, flags: RunCommandFlags, outcome: Outcome): void {
  const { result, built } = outcome;
  const isOk = result.status === "ok";
  const shown: readonly Shown[] = isOk
    ? built.previews.map((preview) => ({
        preview,
        values: previewValues(firstBytes(preview.path), preview.type),
      }))
    : [];
  if (flags.json) surroundings.output.write(`${JSON.stringify(jsonOf(flags, outcome, shown))}\n`);
  else if (isOk) surroundings.output.write(textOf(flags, result, shown));
  if (isOk) return;
  complain(surroundings, `${flags.kernel}: ${result.status}: ${describeCause(result.cause)}`);
}

function jsonOf(flags: RunCommandFlags, { job, result }: Outcome, shown: readonly Shown[]): object {
  const { grid, block, sharedBytes, entry } = job;
  const { status } = result;
  return {
    // No check was asked for, so there is no proof to show.
    ...(status === "ok" ? { status, device: result.device, measures: result.measures } : result),
    die: flags.die,
    kernel: entry,
    grid,
    block,
    sharedBytes,
    outputs: shown.map(({ preview: { argument, type, bytes }, values }) => ({
      argument,
      type,
      bytes,
      first: values,
    })),
  };
}

function textOf(
  flags: RunCommandFlags,
  result: { readonly device: string; readonly measures: JobMeasures },
  shown: readonly Shown[],
): string {
  const { kernelNs, wallNs, bytesIn, bytesOut } = result.measures;
  const moved = `${bytesText(bytesIn)} in, ${bytesText(bytesOut)} out`;
  const shape = `grid ${flags.grid.join(",")} block ${flags.block.join(",")}`;
  const lines = [
    `device  ${result.device} (die ${flags.die})`,
    `kernel  ${flags.kernel}, ${shape}, shared ${bytesText(flags.shared)}`,
    `time    kernel ${durationText(kernelNs)}, in all ${durationText(wallNs)}`,
    `moved   ${moved}, ${rateText(bytesIn + bytesOut, wallNs)}`,
    ...shown.map(shownLine),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function shownLine({ preview: { argument, type, bytes }, values }: Shown): string {
  const count = type === null ? bytes : bytes / SCALAR_BYTES[type];
  const rest = values.length < count ? " …" : "";
  return `arg ${argument}   ${type ?? "bytes"}[${count}] = ${values.join(" ")}${rest}`;
}

function firstBytes(path: string): Uint8Array {
  const bytes = new Uint8Array(PREVIEW_BYTES_MAX);
  const file = openSync(path, "r");
  try {
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}
