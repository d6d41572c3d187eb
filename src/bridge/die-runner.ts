/** Runs mailboxes' jobs on the owner's dies. */
import type { Job, JobCause, JobResult, Owner } from "../owner/mod.ts";
import { DieChoice } from "./die-choice.ts";
import { isLeaving } from "./result-status.ts";

/**
 * How often a job is run whose die host dies under it: it may have died of another's fault, and a
 * job that kills its host every time must end. A job that was still waiting for its turn had no
 * part in that, and does not count: whoever killed the host has had its turn, so each other mailbox
 * can do that to it once.
 */
const RUNS_MAX = 2;

type Dies =
  | { readonly ok: true; readonly dies: readonly number[] }
  | { readonly ok: false; readonly cause: JobCause };

export class DieRunner {
  readonly #owner: Pick<Owner, "run" | "discover">;
  readonly #choice = new DieChoice();
  #discovered: readonly number[] | null = null;

  constructor(owner: Pick<Owner, "run" | "discover">) {
    this.#owner = owner;
  }

  /** Has the owner look for its dies before there is a job that would wait for it. */
  prepare(): void {
    // Whatever goes wrong, the first job finds and tells.
    this.#discover().catch(() => undefined);
  }

  /** What runs the jobs of one mailbox; `dies` null: on any that there is. */
  forMailbox(dies: readonly number[] | null): (job: Job) => Promise<JobResult> {
    let before: number | null = null;
    return async (job) => {
      const found = dies === null ? await this.#discover() : ({ ok: true, dies } as const);
      if (!found.ok) return { status: "refused", cause: found.cause };
      for (let runs = 0; ;) {
        const { die, release } = this.#choice.take(found.dies, before);
        before = die;
        const result = await this.#owner.run(die, job).finally(release);
        if (result.status !== "lost" || isLeaving(result.cause)) return result;
        if (result.wasWaiting !== true) runs += 1;
        if (runs >= RUNS_MAX) return result;
      }
    };
  }

  async #discover(): Promise<Dies> {
    if (this.#discovered !== null) return { ok: true, dies: this.#discovered };
    const found = await this.#owner.discover();
    if (!found.ok) {
      const { code, message } = found.error;
      return { ok: false, cause: { name: code, code: 0, call: "discover", message } };
    }
    const dies = found.value.dies.map(({ die }) => die);
    if (dies.length === 0) {
      const message = "the owner has no die";
      return { ok: false, cause: { name: "no_device", code: 0, call: "discover", message } };
    }
    this.#discovered = dies;
    return { ok: true, dies };
  }
}
