/**
 * For tests of bring-up and health: an owner over a board whose every step follows a script, in
 * virtual time. Die hosts are the real ones, in this process, and count the devices that are bound
 * as they open their backend, as CUDA does.
 */
import { err, invariant, ok, VirtualClock, type Result } from "../base/mod.ts";
import type { Board, BoardEvent, BoardFailure, Presence, SlotKind } from "../board/mod.ts";
import { CALM_CONDUCT, createModelGpu, MODEL_DEVICE, type ModelConduct } from "../gpu/mod.ts";
import { encodeFrame, type HostRequest } from "./frames.ts";
import type { HostTransport } from "./host-link.ts";
import { createLocalLauncher } from "./local-host.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { createOwner } from "./owner.ts";
import type { Owner } from "./reports.ts";
import { Wedges, type WedgesOptions } from "./wedge.ts";

/** What the scripted board does, and has done. */
export type BoardScript = {
  /** What the next such step ends in, e.g. `bind 1`; each is taken once. */
  readonly failNext: Map<string, BoardFailure>;
  readonly presence: Map<number, Presence>;
  /** Steps that were taken, e.g. `bind 1`. */
  readonly steps: string[];
  readonly bound: Set<number>;
  isLoaded: boolean;
  occupant: number | null;
  /** The driver counts no die but those that are bound; else all of them. */
  countsBoundAlone: boolean;
  /** Probe kernels that come out wrong, by the device's address. */
  readonly wrong: Set<string>;
  /** Kernels that are launched do not end. */
  isHeld: boolean;
  readonly livePids: Set<number>;
  /** Why the journal takes nothing; null: it does. */
  journalError: string | null;
  /** How long a die's presence takes to be read, in milliseconds. */
  readonly slowPresenceMs: Map<number, number>;
  /** Calls that die hosts never answer, or refuse, e.g. `probe 1`. */
  readonly stuckCalls: Set<string>;
  readonly refusedCalls: Set<string>;
  /** Called as a step of the board is taken. */
  onStep: (name: string) => void;
};

export type BoardBench = {
  readonly owner: Owner;
  readonly clock: VirtualClock;
  readonly script: BoardScript;
  readonly entries: JournalEntry[];
  readonly lines: string[];
  readonly emit: (event: Partial<BoardEvent>) => void;
  readonly killHosts: () => void;
  readonly hosts: () => number;
  /** Lets time pass until the promise settles, and gives its value. */
  readonly take: <T>(promise: Promise<T>) => Promise<T>;
  readonly pass: (ms: number) => Promise<void>;
};

export const addressOfDie = (die: number): string => `0000:0${String(5 + die)}:00.0`;

/** An hour of virtual time: whatever takes longer hangs. */
const LIMIT_MS = 3_600_000;

export function createBoardBench(options: {
  readonly slot: SlotKind;
  readonly dies: number;
  readonly wedges?: Partial<WedgesOptions>;
  /** The machine of an earlier owner, as that has left it. */
  readonly script?: BoardScript;
}): BoardBench {
  const { slot, dies } = options;
  const clock = new VirtualClock();
  const script: BoardScript = options.script ?? {
    failNext: new Map(),
    presence: new Map(),
    steps: [],
    bound: new Set(),
    isLoaded: false,
    occupant: null,
    countsBoundAlone: false,
    wrong: new Set(),
    isHeld: false,
    livePids: new Set(),
    journalError: null,
    slowPresenceMs: new Map(),
    stuckCalls: new Set(),
    refusedCalls: new Set(),
    onStep: () => undefined,
  };
  const listeners = new Set<(event: BoardEvent) => void>();
  const { launch, killAll, alive } = createLocalLauncher({
    clock,
    openGpu: () => ok({ gpu: openGpu(script, dies, slot), note: null }),
  });
  const [entries, lines]: [JournalEntry[], string[]] = [[], []];
  const owner = createOwner({
    board: createScriptedBoard({ script, slot, dies, listeners, clock }),
    launchHost: () => scriptCalls(launch(), script),
    baseModule: { name: "base.ptx", path: import.meta.filename },
    log: (line) => void lines.push(line),
    journal: createScriptedJournal(script, entries),
    clock,
    windowPolicy: { minimumHoldMs: 0, maximumWaitMs: 50 },
    workTimeoutMs: 600_000,
    workElements: 1024,
    wedges: new Wedges({
      interruptions: [],
      journalPath: "/state/bring-up.journal",
      isAlive: (pid) => script.livePids.has(pid),
      ...options.wedges,
    }),
  });
  return {
    ...{ owner, clock, script, entries, lines, killHosts: killAll, hosts: alive },
    emit: (event) => {
      const whole = { die: 0, kind: "xid", xid: null, text: "a line", ...event } as const;
      for (const listener of listeners) listener(whole);
    },
    take: async <T>(promise: Promise<T>): Promise<T> => {
      let isSettled = false;
      void promise.finally(() => (isSettled = true));
      const how = await clock.run(() => isSettled, clock.nowMs() + LIMIT_MS);
      invariant(how === "done", `what was waited for came: ${how}`);
      return promise;
    },
    pass: async (ms) => {
      await clock.run(() => false, clock.nowMs() + ms);
    },
  };
}

/** A host that some calls do not come back from. */
function scriptCalls(transport: HostTransport, script: BoardScript): HostTransport {
  let toOwner: (chunk: Buffer) => void = () => undefined;
  return {
    ...transport,
    onData: (listener) => {
      toOwner = listener;
      transport.onData(listener);
    },
    write: (frame) => {
      const { id, call, body } = JSON.parse(frame.toString("utf8", 4)) as HostRequest;
      const name = "die" in body ? `${call} ${String(body.die)}` : call;
      if (script.stuckCalls.has(name)) return;
      if (!script.refusedCalls.has(name)) {
        transport.write(frame);
        return;
      }
      const cause = { name: "scripted", code: 0, call, message: "scripted" };
      const failure = { kind: "refused", cause } as const;
      queueMicrotask(() => toOwner(encodeFrame({ id, kind: "failure", failure })));
    },
  };
}

const createScriptedJournal = (script: BoardScript, entries: JournalEntry[]): Journal => ({
  write: (entry) =>
    script.journalError === null ? ok(void entries.push(entry)) : err(script.journalError),
});

/** Counts what is bound at this moment; where that does not matter, every die. */
function openGpu(
  script: BoardScript,
  dies: number,
  slot: SlotKind,
): ReturnType<typeof createModelGpu> {
  const all = Array.from({ length: dies }, (_, die) => die);
  const counted =
    script.countsBoundAlone && slot !== "direct" ? all.filter((die) => script.bound.has(die)) : all;
  const devices = counted.map((die, ordinal) => {
    const pciAddress = addressOfDie(die);
    const conduct: ModelConduct = {
      ...CALM_CONDUCT,
      begin:
        ({ kind }) =>
        () =>
          kind !== "launch" || !script.isHeld,
      onOutput: (output) => {
        if (script.wrong.has(pciAddress)) output[0] = (output[0] ?? 0) ^ 1;
      },
    };
    return { info: { ...MODEL_DEVICE, ordinal, pciAddress }, conduct };
  });
  return createModelGpu(() => devices);
}

function createScriptedBoard(options: {
  readonly script: BoardScript;
  readonly slot: SlotKind;
  readonly dies: number;
  readonly listeners: Set<(event: BoardEvent) => void>;
  readonly clock: VirtualClock;
}): Board {
  const { script, slot, dies, listeners, clock } = options;
  const step = (name: string, done: () => void): Promise<Result<void, BoardFailure>> => {
    script.steps.push(name);
    const failure = script.failNext.get(name);
    script.failNext.delete(name);
    if (failure !== undefined) return Promise.resolve(err(failure));
    done();
    script.onStep(name);
    return Promise.resolve(ok(undefined));
  };
  const isDirect = slot === "direct";
  return {
    slotKind: slot,
    driver: {
      isLoaded: () => isDirect || script.isLoaded,
      isBound: (die) => isDirect || script.bound.has(die),
      blockAllExcept: (die) => step(`block-all-except ${String(die)}`, () => undefined),
      load: () =>
        step("load-driver", () => {
          script.isLoaded = true;
          if (script.occupant !== null) script.bound.add(script.occupant);
        }),
      unblock: (die) => step(`unblock ${String(die)}`, () => undefined),
      bind: (die) => step(`bind ${String(die)}`, () => void script.bound.add(die)),
      unbind: (die) => step(`unbind ${String(die)}`, () => void script.bound.delete(die)),
      holders: () => Promise.resolve([]),
      restore: async (die) => {
        await step(`restore ${String(die)}`, () => undefined);
      },
    },
    discover: () =>
      Promise.resolve(
        ok(
          Array.from({ length: dies }, (_, die) => ({
            ...{ die, address: addressOfDie(die), name: "GK210" },
          })),
        ),
      ),
    occupant: () => script.occupant,
    acquire: async (die) => {
      script.occupant = null;
      const done = await step(`acquire ${String(die)}`, () => void (script.occupant = die));
      return done.ok ? ok({ die, bar1Address: 0n }) : done;
    },
    ordinalOf: (die, devices) =>
      devices.find(({ pciAddress }) => pciAddress === die.address)?.ordinal ?? null,
    hostGroupOf: (die) => (isDirect ? die : 0),
    presence: async (die) => {
      const slowMs = script.slowPresenceMs.get(die) ?? 0;
      if (slowMs > 0) await clock.sleep(slowMs);
      return script.presence.get(die) ?? "present";
    },
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    leave: () => undefined,
  };
}
