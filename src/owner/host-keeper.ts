/** Keeps one die host alive for a group of dies: starts it on demand, and tells of its death. */
import { err, ok, type EventClock, type Result } from "../base/mod.ts";
import type { DeviceInfo } from "../gpu/mod.ts";
import type { HostFailure } from "./frames.ts";
import { openHostLink, type HostLauncher, type HostLink } from "./host-link.ts";
import type { JobCause } from "./job.ts";
import type { DieTeardown } from "./reports.ts";

export type HostKeeperOptions = {
  readonly launch: HostLauncher;
  /** False where every die of the group is mapped. */
  readonly hasWindow: boolean;
  readonly clock: EventClock;
  readonly onDeath: (cause: JobCause, pid: number | null) => void;
  /** A line that a host or its backend has to say; the same may come again. */
  readonly onNote: (note: string) => void;
};

/** A host that is about to end, and what it has destroyed. */
export type HostTeardown = { readonly link: HostLink; readonly dies: readonly DieTeardown[] };
/** A host that was started to see what the driver counts by now. */
export type Scout = { readonly link: HostLink; readonly devices: readonly DeviceInfo[] };

export class HostKeeper {
  readonly #options: HostKeeperOptions;
  #link: HostLink | null = null;
  #devices: readonly DeviceInfo[] | null = null;
  /** Hosts whose process has not ended yet, the living one too. */
  readonly #running = new Set<HostLink>();
  #condemned: JobCause | null = null;
  /** The die in the window, which a new host is told; null: none is. */
  #windowDie: number | null = null;

  constructor(options: HostKeeperOptions) {
    this.#options = options;
  }

  /** The living host, or null. */
  current(): HostLink | null {
    return this.#link;
  }

  /** True once the living host has opened its backend (cuInit). */
  isInitialised(): boolean {
    return this.#devices !== null;
  }

  /** The living host; one is started where there is none. */
  link(): HostLink {
    if (this.#link !== null) return this.#link;
    return this.#adopt(this.#open());
  }

  /**
   * Starts a second host beside the living one and opens the backend in it: CUDA counts its devices
   * once a process, so that only a new one counts a die that was bound since.
   */
  async scout(): Promise<Result<Scout, HostFailure>> {
    const link = this.#open();
    const opened = await link.call("initialise", {});
    if (opened.ok) return ok({ link, devices: opened.value.devices });
    link.kill(opened.error.cause);
    return err(opened.error);
  }

  /** Ends the living host, which is told `cause`, and puts the scout in its place. */
  replace({ link, devices }: Scout, cause: JobCause): void {
    if (this.#link !== null) this.kill(this.#link, cause);
    this.#adopt(link);
    this.#devices = devices;
  }

  /** It has a context of a die that is gone: it is ended before one is made in it again. */
  condemn(cause: JobCause): void {
    this.#condemned = cause;
  }

  /** Ends the host where it is condemned. Preconditions: nothing of its group is under way. */
  endCondemned(): void {
    if (this.#condemned !== null && this.#link !== null) this.kill(this.#link, this.#condemned);
  }

  get isCondemned(): boolean {
    return this.#condemned !== null;
  }

  #open(): HostLink {
    const link = openHostLink(this.#options.launch(), this.#options);
    this.#running.add(link);
    void link.ended.then(() => this.#running.delete(link));
    return link;
  }

  #adopt(link: HostLink): HostLink {
    this.#link = link;
    void link.died.then((cause) => this.#forget(link, cause));
    if (this.#options.hasWindow) void link.call("window", { die: this.#windowDie });
    return link;
  }

  /** The window shows this die now, null: none; tells the living host, and every later one. */
  async tellWindow(die: number | null): Promise<void> {
    if (!this.#options.hasWindow) return;
    this.#windowDie = die;
    await this.#link?.call("window", { die });
  }

  /** Opens the backend in `link`, once, and returns what devices it counts. */
  async initialise(link: HostLink): Promise<Result<readonly DeviceInfo[], HostFailure>> {
    if (this.#link === link && this.#devices !== null) return ok(this.#devices);
    const opened = await link.call("initialise", {});
    if (!opened.ok) return err(opened.error);
    if (this.#link === link) this.#devices = opened.value.devices;
    if (opened.value.note !== null) this.#options.onNote(opened.value.note);
    return ok(opened.value.devices);
  }

  /**
   * Ends `link`, unless it is gone already; everything in flight in it is told `cause`. It is
   * forgotten at once, so that whoever asks next gets a new one and does not wait for its end.
   */
  kill(link: HostLink, cause: JobCause): void {
    if (this.#link !== link) return;
    link.kill(cause);
    this.#forget(link, cause);
  }

  /** Hosts whose process has not ended, those that were killed too. */
  running(): readonly HostLink[] {
    return [...this.#running];
  }

  /**
   * Has the living host destroy what it holds and end by itself; then it is forgotten, and its end
   * is no death. Null where there is none.
   */
  async teardown(): Promise<Result<HostTeardown, HostFailure> | null> {
    const link = this.#link;
    if (link === null) return null;
    const done = await link.call("teardown", {});
    if (!done.ok) return done;
    if (this.#link === link) this.#link = null;
    this.#devices = null;
    this.#condemned = null;
    return ok({ link, dies: done.value.dies });
  }

  #forget(link: HostLink, cause: JobCause): void {
    if (this.#link !== link) return;
    this.#link = null;
    this.#devices = null;
    this.#condemned = null;
    this.#options.onDeath(cause, link.pid);
  }
}
