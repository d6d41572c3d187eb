/** Does the steps: what runs in a step process. One at a time, and without a way to call it off. */
import { spawnSync } from "node:child_process";
import { closeSync, constants as fsConstants, openSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { FileError, fileCall, invariant } from "../base/mod.ts";
import { readConfig } from "./pci-function.ts";
import type {
  SlotBar,
  SlotDie,
  SlotMove,
  SlotQuery,
  StepAnswer,
  StepCall,
  StepCalls,
  StepError,
  StepQuestion,
} from "./step-protocol.ts";
import { readText } from "./sysfs.ts";

/** The bar_swap device, open. Its calls throw FileError. */
export type SlotDevice = {
  readonly query: () => SlotQuery;
  readonly die: (die: number) => SlotDie;
  readonly acquire: (die: number) => SlotBar;
  readonly release: (die: number) => void;
  /** Maps, copies and unmaps: no view of BAR1 outlives the call. */
  readonly read: (offset: number, bytes: number) => Uint8Array;
};

export type StepServerOptions = {
  /** `/`, or a folder that stands for it. */
  readonly root: string;
  /** Opens the bar_swap device; throws FileError. */
  readonly openSlot: () => SlotDevice;
  /** Writes an attribute of sysfs; writeAttribute unless a test brings another kernel. */
  readonly write?: (path: string, text: string) => void;
};

/** What a program may say before the rest is dropped: enough for modprobe's complaint. */
const OUTPUT_BYTES_MAX = 64 * 1024;

type Handlers = {
  readonly [K in StepCall]: (body: StepCalls[K]["request"]) => StepCalls[K]["reply"];
};

/** Answers one question after the other. What the system turns down is an answer, too. */
export function createStepServer(
  options: StepServerOptions,
): (question: StepQuestion) => StepAnswer {
  const { root } = options;
  const write = options.write ?? writeAttribute;
  let device: SlotDevice | null = null;
  const slot = (): SlotDevice => (device ??= options.openSlot());
  const handlers: Handlers = {
    write: ({ path, text }) => {
      write(join(root, path), text);
      return {};
    },
    read: ({ path }) => {
      const text = readText(root, path);
      if (text === null) throw new FileError({ code: "ENOENT", call: "read", path });
      return { text };
    },
    presence: ({ name }) => {
      const config = readConfig(root, name);
      if (config === null) return { presence: "unknown" };
      return { presence: config === "off_bus" ? "off_bus" : "present" };
    },
    program: ({ path, args }) => runProgram(path, args),
    slotQuery: () => slot().query(),
    slotDie: ({ die }) => slot().die(die),
    slotMove: ({ from, to }) => moveSlot(slot(), from, to),
    slotRead: ({ offset, bytes }) => ({
      bytes: Buffer.from(slot().read(offset, bytes)).toString("base64"),
    }),
  };
  return ({ id, call, body }) => {
    try {
      return { id, reply: handlers[call](body as never) };
    } catch (error) {
      return { id, error: stepErrorOf(error) };
    }
  };
}

/** The die that was in the slot comes back where the other cannot be mapped. */
function moveSlot(device: SlotDevice, from: number | null, to: number): SlotMove {
  if (from !== null) device.release(from);
  try {
    return { bar: device.acquire(to) };
  } catch (error) {
    return { refused: stepErrorOf(error), lost: from === null ? null : putBack(device, from) };
  }
}

function putBack(device: SlotDevice, die: number): StepError | null {
  try {
    device.acquire(die);
    return null;
  } catch (error) {
    return stepErrorOf(error);
  }
}

/**
 * One write(2) into a file that is there. Not writeFile: with O_CREAT a missing attribute is EACCES
 * and not ENOENT.
 */
function writeAttribute(path: string, text: string): void {
  const flags = fsConstants.O_WRONLY | fsConstants.O_TRUNC;
  const file = fileCall("open", path, () => openSync(path, flags));
  try {
    fileCall("write", path, () => writeSync(file, text));
  } finally {
    closeSync(file);
  }
}

function runProgram(path: string, args: readonly string[]): StepCalls["program"]["reply"] {
  const run = spawnSync(path, args, {
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  const { status, signal, error } = run;
  if (error !== undefined) fileCall("spawn", path, () => throwIt(error));
  return { status, signal, output: `${run.stdout}${run.stderr}`.trim() };
}

function throwIt(error: Error): never {
  throw error;
}

/** What the system said, with the number that libuv may have no name for. */
function stepErrorOf(error: unknown): StepError {
  // Everything else is a bug in here, and ends this process loudly.
  invariant(error instanceof FileError, `a step threw ${String(error)}`);
  const errno = (constants.errno as Readonly<Record<string, number>>)[error.code] ?? 0;
  const hasNumber = error.message.includes("(errno ");
  const number = errno === 0 || hasNumber ? "" : ` (${error.code}, errno ${errno})`;
  return { code: error.code, errno, message: `${error.message}${number}` };
}
