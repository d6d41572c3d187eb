// An owner in memory, with two dies and a window, for the tests of its frontends: it keeps the
// rules that they can see (a die is online before it works, `read` needs `work`), and counts calls.
import { err, ok, type Result } from "../../src/base/mod.ts";
import {
  WORK_BLOCK_THREADS,
  WORK_ELEMENTS,
  type DieStatus,
  type Job,
  type JobResult,
  type Owner,
  type OwnerMode,
  type OwnerRefusal,
} from "../../src/owner/mod.ts";

export const FAKE_DIES = 2;

export type FakeOwnerOptions = {
  /** Before each answer, so that two commands would overlap if they could. */
  readonly delayMs?: number;
  /** Makes every `read` find a wrong element, the control of `PASS`. */
  readonly isWrong?: boolean;
  /** Takes a line as each call begins. */
  readonly log?: (line: string) => void;
  readonly run?: (die: number, job: Job) => Promise<JobResult>;
};

export type FakeOwner = Owner & {
  /** Each call as `name die…`, with `>` as it begins and `<` as it ends. */
  readonly calls: readonly string[];
};

type Work = { readonly seed: number; readonly iters: number };

export function createFakeOwner(options: FakeOwnerOptions = {}): FakeOwner {
  return new InMemoryOwner(options);
}

const describe = (die: number): { die: number; address: string; deviceName: string } => ({
  die,
  address: `fake:${String(die)}`,
  deviceName: "Fake die",
});

const ALL = Array.from({ length: FAKE_DIES }, (_, die) => die);

class InMemoryOwner implements FakeOwner {
  readonly calls: string[] = [];
  readonly #options: FakeOwnerOptions;
  readonly #online = new Set<number>();
  readonly #works = new Map<number, Work>();
  #occupant: number | null = null;
  #swaps = 0;
  #mode: OwnerMode = "serving";
  #wasTornDown = false;
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: FakeOwnerOptions) {
    this.#options = options;
  }

  readonly discover: Owner["discover"] = () =>
    this.#call("discover", () => ok({ dies: ALL.map(describe), occupant: this.#occupant }));

  readonly online: Owner["online"] = (die) =>
    this.#onDie("online", die, () => {
      const wasOnline = this.#online.has(die);
      this.#move(die);
      this.#online.add(die);
      return ok({
        ...describe(die),
        wasOnline,
        ordinal: die,
        elapsedMs: 1,
        inputAddress: 0x1000n,
        outputAddress: 0x401000n,
      });
    });

  readonly bindAll: Owner["bindAll"] = async (dies) => {
    await this.#call(`bindAll ${dies.join(" ")}`, () => undefined);
  };

  readonly probe: Owner["probe"] = (die) =>
    this.#onDie("probe", die, () =>
      ok({ ...describe(die), wasBoundNow: !this.#online.has(die), deviceCount: FAKE_DIES }),
    );

  readonly swap: Owner["swap"] = (die) =>
    this.#onDie("swap", die, () => {
      const times = { elapsedMs: 0.25, moveMs: 0.25, boardMs: 0.125, noticeMs: 0.0625 };
      return ok({ die, moved: this.#move(die), ...times });
    });

  readonly work: Owner["work"] = (die, seed, iters) =>
    this.#onDie("work", die, () => {
      if (!this.#online.has(die)) {
        const message = `die not online — run 'online ${String(die)}' first`;
        return err({ code: "not_online", message });
      }
      this.#works.set(die, { seed, iters });
      return ok({ die, seed, iters, gridBlocks: WORK_ELEMENTS / WORK_BLOCK_THREADS });
    });

  readonly read: Owner["read"] = (die) =>
    this.#onDie("read", die, () => {
      const work = this.#works.get(die);
      if (work === undefined) return err({ code: "no_work", message: "run 'work' first" });
      const pass = this.#options.isWrong !== true;
      return ok({
        die,
        pass,
        bad: pass ? 0 : 1,
        checked: WORK_ELEMENTS,
        ...work,
        kernelNs: 1000,
        firstSample: work.seed + work.iters,
        lastSample: work.iters,
        firstBad: pass ? null : { index: 7, expected: work.iters, actual: Number.NaN },
      });
    });

  readonly count: Owner["count"] = () => this.#call("count", () => ok(FAKE_DIES));

  readonly status: Owner["status"] = () =>
    this.#call("status", () => ({
      ...({ backend: "soft", slot: "sim" } as const),
      activeDie: this.#occupant,
      swaps: this.#swaps,
      driverLoaded: this.#online.size > 0,
      cudaInitialised: this.#online.size > 0,
      dies: ALL.map((die) => this.#dieStatus(die)),
      mode: this.#mode,
      ...({ waiting: 0, swapTimes: null, policy: null, windows: [], faults: [] } as const),
    }));

  readonly run: Owner["run"] = (die, job) => {
    if (this.#options.run !== undefined) return this.#options.run(die, job);
    const measures = { kernelNs: 1000, wallNs: 2000, bytesIn: 8, bytesOut: 4 };
    return this.#call(`run ${String(die)}`, () => ({
      ...({ status: "ok", device: "Fake die", proof: null } as const),
      measures,
    }));
  };

  readonly retry: Owner["retry"] = (die) => {
    this.calls.push(`retry ${String(die)}`);
    const how = { step: "bind", how: "host_reset", time: null } as const;
    const held = { ...how, address: null, stepPid: null };
    return die === 1 ? [{ die, ...held }] : [];
  };

  readonly ladder: Owner["ladder"] = () =>
    this.#call("ladder", () => ({ rows: [], outcome: "complete", online: ALL }));

  readonly drain: Owner["drain"] = async () => {
    this.calls.push("drain");
    const names = [...this.#underWay];
    if (this.#mode === "serving") this.#mode = "draining";
    await Promise.all(names);
    if (this.#mode === "draining") this.#mode = "drained";
    const ended = { endedOk: names.length, endedBadly: 0, left: [], elapsedMs: 1 };
    return { mode: this.#mode, ...ended };
  };

  readonly park: Owner["park"] = async () => {
    const drained = await this.drain();
    this.#mode = "parked";
    return { ...drained, mode: this.#mode };
  };

  readonly resume: Owner["resume"] = () => {
    this.#mode = "serving";
  };

  readonly teardown: Owner["teardown"] = async () => {
    await this.park();
    const dies = [...this.#online].map((die) => ({ die, modules: 1, buffers: 3, bytes: 4096 }));
    this.#online.clear();
    this.#wasTornDown = true;
    return ok({ dies, hosts: [{ pid: 7, end: "ended with code 0" }], elapsedMs: 1 });
  };

  readonly isTornDown: Owner["isTornDown"] = () => this.#wasTornDown && this.#online.size === 0;

  readonly leave = (): Promise<void> => {
    this.calls.push("leave");
    return Promise.resolve();
  };

  #dieStatus(die: number): DieStatus {
    const isOnline = this.#online.has(die);
    return {
      ...describe(die),
      state: isOnline ? "online" : "discovered",
      isBound: isOnline,
      ready: isOnline,
      isBusy: false,
      ordinal: isOnline ? die : null,
      hasPendingRead: this.#works.has(die),
      hostPid: null,
      memory: null,
      restarts: 0,
      lastCause: null,
      ...{ waiting: 0, faults: [] },
    };
  }

  #move(die: number): boolean {
    const moved = this.#occupant !== die;
    this.#occupant = die;
    if (moved) this.#swaps += 1;
    return moved;
  }

  async #call<T>(name: string, answer: () => T): Promise<T> {
    this.calls.push(`>${name}`);
    this.#options.log?.(`begun: ${name}`);
    const wait = new Promise<void>((resolve) => setTimeout(resolve, this.#options.delayMs ?? 0));
    this.#underWay.add(wait);
    await wait;
    this.#underWay.delete(wait);
    this.calls.push(`<${name}`);
    return answer();
  }

  #onDie<T>(
    name: string,
    die: number,
    answer: () => Result<T, OwnerRefusal>,
  ): Promise<Result<T, OwnerRefusal>> {
    return this.#call(`${name} ${String(die)}`, () =>
      die < FAKE_DIES
        ? answer()
        : err({ code: "no_such_die", message: "no such die; 'discover' lists them" }),
    );
  }
}
