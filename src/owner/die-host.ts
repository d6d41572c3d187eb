/**
 * The die host's side of the protocol: all native code and all devices live behind it, in a child
 * process that may die without taking anything else with it.
 */
import {
  createMutex,
  err,
  invariant,
  ok,
  type EventClock,
  type Mutex,
  type Result,
} from "../base/mod.ts";
import type { Gpu, GpuRefusal } from "../gpu/mod.ts";
import {
  createFrameReader,
  encodeFrame,
  type HostCallName,
  type HostCalls,
  type HostMessage,
  type HostRequest,
} from "./frames.ts";
import { STAGING_BYTES } from "./host-bytes.ts";
import { HostDie } from "./host-die.ts";
import { lossOf, refusalCause } from "./host-failure.ts";
import { runJob } from "./host-job.ts";
import type { JobCause } from "./job.ts";
import type { DieTeardown } from "./reports.ts";

/** A backend that was opened, and one line for the log where there is something to say. */
export type OpenedGpu = { readonly gpu: Gpu; readonly note: string | null };

export type DieHostOptions = {
  /** Opens the backend on the first `initialise`. */
  readonly openGpu: () => Result<OpenedGpu, GpuRefusal>;
  readonly write: (frame: Buffer) => void;
  readonly clock: EventClock;
  /** Bytes of each die's staging buffer; STAGING_BYTES where it is left out. */
  readonly stagingBytes?: number;
  /** Takes an invariant that broke. Where it is left out, the process is to end by it. */
  readonly onBug?: (error: unknown) => void;
  /** Everything was destroyed, as the owner asked, and that was written: the process is to end. */
  readonly onTornDown: () => void;
};

type Reply<K extends HostCallName> = Promise<Result<HostCalls[K]["reply"], JobCause>>;

type HeldDie = { readonly die: HostDie; readonly queue: Mutex };

export class DieHost {
  readonly #options: DieHostOptions;
  readonly #read = createFrameReader();
  readonly #dies = new Map<number, HeldDie>();
  #opened: OpenedGpu | null = null;
  /** A job failed in a way after which the owner replaces this process. */
  #isCondemned = false;
  /** The die that the window shows, null: none; undefined where every die is mapped. */
  #windowDie: number | null | undefined = undefined;

  constructor(options: DieHostOptions) {
    this.#options = options;
  }

  /** Takes bytes from the owner. Requests for one die are done in order; dies do not wait. */
  receive(chunk: Buffer): void {
    for (const frame of this.#read(chunk)) {
      const answered = this.#answer(frame as HostRequest);
      if (this.#options.onBug === undefined) void answered;
      else answered.catch(this.#options.onBug);
    }
  }

  #send(message: HostMessage): void {
    this.#options.write(encodeFrame(message));
  }

  async #answer(request: HostRequest): Promise<void> {
    const { id } = request;
    if (request.call === "start") {
      await this.#start(id, request.body);
      return;
    }
    try {
      const reply = await this.#call(request);
      if (reply.ok) this.#send({ id, kind: "reply", body: reply.value });
      else this.#send({ id, kind: "failure", failure: { kind: "refused", cause: reply.error } });
      if (reply.ok && request.call === "teardown") this.#options.onTornDown();
    } catch (error) {
      const { what, cause } = lossOf(error);
      const kind = what === "device" ? "lost" : "refused";
      this.#send({ id, kind: "failure", failure: { kind, cause } });
    }
  }

  #call(request: Exclude<HostRequest, { readonly call: "start" }>): Reply<HostCallName> {
    switch (request.call) {
      case "initialise":
        return Promise.resolve(this.#initialise());
      case "count":
        return Promise.resolve(ok({ devices: this.#gpu().deviceCount }));
      case "window":
        return Promise.resolve(this.#moveWindow(request.body.die));
      case "context":
        return Promise.resolve(this.#openContext(request.body.die, request.body.ordinal));
      case "module":
        return this.#onDie(request.body.die, ({ die }) => {
          const module = die.module(request.body.module);
          return module.ok ? ok({ kernels: module.value.kernelNames }) : module;
        });
      case "resident":
        return this.#onDie(request.body.die, ({ die }) => {
          const made = die.resident(request.body.buffer, request.body.bytes);
          return made.ok ? ok({ address: String(made.value.address) }) : made;
        });
      case "probe":
        return this.#onDie(request.body.die, async ({ die }) => {
          const right = await die.probe(request.body.module);
          return right.ok ? ok({ right: right.value }) : right;
        });
      case "collect":
        return this.#onDie(request.body.die, ({ die }) => die.collect(request.body));
      case "memory":
        return this.#onDie(request.body.die, ({ die }) => ok(die.context.memory()));
      case "teardown":
        return this.#teardown();
    }
  }

  #initialise(): Result<HostCalls["initialise"]["reply"], JobCause> {
    if (this.#opened === null) {
      const opened = this.#options.openGpu();
      if (!opened.ok) return err(refusalCause(opened.error));
      this.#opened = opened.value;
    }
    const { gpu, note } = this.#opened;
    const devices = [];
    for (let ordinal = 0; ordinal < gpu.deviceCount; ordinal++) {
      const info = gpu.deviceInfo(ordinal);
      if (!info.ok) return err(refusalCause(info.error));
      devices.push(info.value);
    }
    return ok({ devices, note });
  }

  #openContext(die: number, ordinal: number): Result<HostCalls["context"]["reply"], JobCause> {
    this.#checkMapped(die);
    // A bring-up that failed on a later rung begins again here, and must not make a second context.
    const before = this.#dies.get(die);
    if (before !== undefined) return ok({ device: before.die.context.device });
    const context = this.#gpu().openContext(ordinal);
    if (!context.ok) return err(refusalCause(context.error));
    const note = (line: string): void => this.#send({ kind: "note", line });
    const { clock, stagingBytes = STAGING_BYTES } = this.#options;
    const held = new HostDie(context.value, { clock, stagingBytes, note });
    this.#dies.set(die, { die: held, queue: createMutex() });
    return ok({ device: context.value.device });
  }

  #moveWindow(die: number | null): Result<object, JobCause> {
    for (const [other, { queue }] of this.#dies) {
      invariant(!queue.isLocked(), `die ${String(other)} is idle when the window moves`);
    }
    this.#windowDie = die;
    return ok({});
  }

  #start(id: number, body: HostCalls["start"]["request"]): Promise<void> {
    const { die, queue } = this.#held(body.die);
    this.#checkMapped(body.die);
    return queue.run(async () => {
      // The owner is about to end this process, and tells whoever waits; a job that is begun now
      // would be cut off in the middle.
      if (this.#isCondemned) return;
      const onLaunched = (): void => this.#send({ id, kind: "reply", body: {} });
      const result = await runJob(die, body.job, this.#options.clock, onLaunched);
      this.#isCondemned ||= result.status === "device_error" || result.status === "timeout";
      this.#send({ id, kind: "finished", result });
    });
  }

  /**
   * To be called now and then: lets go of memory files that are gone, which would otherwise stay
   * allocated, and locked, until their die's next job.
   */
  tidy(): void {
    for (const [number, { die, queue }] of this.#dies) {
      const isMapped = this.#windowDie === undefined || this.#windowDie === number;
      if (!isMapped || queue.isLocked() || this.#isCondemned) continue;
      void queue.run(() => {
        die.mapped.sweep([]);
        return Promise.resolve();
      });
    }
  }

  #onDie<T>(
    number: number,
    task: (held: HeldDie) => Result<T, JobCause> | Promise<Result<T, JobCause>>,
  ): Promise<Result<T, JobCause>> {
    const held = this.#held(number);
    this.#checkMapped(number);
    return held.queue.run(async () => task(held));
  }

  /** One die after the other, each once it is idle. */
  async #teardown(): Reply<"teardown"> {
    invariant(this.#windowDie === undefined, "nothing is torn down behind a window");
    const dies: DieTeardown[] = [];
    for (const [number, { die, queue }] of this.#dies) {
      const held = await queue.run(() => Promise.resolve(die.teardown()));
      this.#dies.delete(number);
      dies.push({ die: number, ...held });
    }
    return ok({ dies });
  }

  #gpu(): Gpu {
    invariant(this.#opened !== null, "the backend was opened by `initialise`");
    return this.#opened.gpu;
  }

  #held(die: number): HeldDie {
    const held = this.#dies.get(die);
    invariant(held !== undefined, `die ${String(die)} has a context`);
    return held;
  }

  /** Invariant 1, held on this side too: a context is touched only while its die is mapped. */
  #checkMapped(die: number): void {
    invariant(
      this.#windowDie === undefined || this.#windowDie === die,
      `die ${String(die)} is touched while the window shows die ${String(this.#windowDie)}`,
    );
  }
}
