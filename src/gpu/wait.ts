/**
 * Waiting for a stream or an event by asking it: at once for what is nearly done, then ever more
 * seldom, so that the event loop runs and an endless kernel costs no core.
 */
import { systemClock, type EventClock } from "../base/mod.ts";
import type { GpuEvent, Stream } from "./gpu.ts";

/** How long to ask without a pause: longer than a small job's tail, shorter than anyone notices. */
const SPIN_MS = 0.05;

/** How long to ask once every turn of the event loop, before a timer's 1 ms is short enough. */
const TURNS_MS = 2;

/** Pause between questions after that. */
const PAUSE_MS = 1;

export type WaitOptions = {
  /** Gives up after this long; without it, never. */
  readonly timeoutMs?: number;
  /** The machine's own, unless one says otherwise. */
  readonly clock?: EventClock;
};

/** `timeout`: it was not done within the time given, and goes on all the same. */
export type WaitOutcome = "done" | "timeout";

/** Waits until everything queued on the stream is done. Throws GpuError when it was lost. */
export function waitUntilIdle(stream: Stream, options: WaitOptions = {}): Promise<WaitOutcome> {
  return waitUntil(() => stream.isIdle(), options);
}

/** Waits until the event's record has been passed. Throws GpuError when the context was lost. */
export function waitUntilReached(event: GpuEvent, options: WaitOptions = {}): Promise<WaitOutcome> {
  return waitUntil(() => event.isReached(), options);
}

async function waitUntil(isDone: () => boolean, options: WaitOptions): Promise<WaitOutcome> {
  const clock = options.clock ?? systemClock;
  const startMs = clock.nowMs();
  for (;;) {
    // Asked before the deadline is looked at: what is done is done, however late we come to ask.
    if (isDone()) return "done";
    const waitedMs = clock.nowMs() - startMs;
    if (options.timeoutMs !== undefined && waitedMs >= options.timeoutMs) return "timeout";
    if (waitedMs >= TURNS_MS || !clock.movesByItself) await clock.sleep(PAUSE_MS);
    else if (waitedMs >= SPIN_MS) await clock.turn();
  }
}
