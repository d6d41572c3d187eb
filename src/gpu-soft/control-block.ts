/**
 * What a context's main thread and its workers say to each other without messages: 32-bit words in a
 * SharedArrayBuffer of their own, where no kernel can reach them. Words that are waited on or counted
 * by different threads lie in cache lines of their own.
 */

/** The most workers a context may have. */
export const WORKERS_MAX = 256;

const LINE_WORDS = 16;

/** Indices of words. */
export const WORD = {
  /** Rises when a launch ends, a worker fails or the last worker is up: the main thread waits on it. */
  signal: 0,
  /** Workers that are up. */
  ready: 1 * LINE_WORDS,
  /** Participants that are done with the launch. */
  done: 2 * LINE_WORDS,
  /** 1 + index of the first worker that failed; 0 while none has. */
  failed: 3 * LINE_WORDS,
  /** u32: the next block that nobody has taken. */
  nextBlock: 4 * LINE_WORDS,
  /** The launch, written before the doorbells ring and only read by workers. */
  launch: {
    kernel: 5 * LINE_WORDS,
    /** u32. */
    blocks: 5 * LINE_WORDS + 1,
    participants: 5 * LINE_WORDS + 2,
    /** u32: the scratch area of worker 0, and the distance to the next worker's. */
    scratch: 5 * LINE_WORDS + 3,
    scratchStride: 5 * LINE_WORDS + 4,
  },
  /** Bytes of the text that the failed worker left; 0 where its fault record says it all. */
  textBytes: 6 * LINE_WORDS,
  /** One a worker, each in its line: rises when the worker has a launch to take part in. */
  doorbell: 7 * LINE_WORDS,
} as const;

export const doorbellOf = (worker: number): number => WORD.doorbell + worker * LINE_WORDS;

/** When each worker came up, and when each was last done: u64 nanoseconds of hrtime. */
const READY_NS_OFFSET = (WORD.doorbell + WORKERS_MAX * LINE_WORDS) * 4;
const DONE_NS_OFFSET = READY_NS_OFFSET + WORKERS_MAX * 8;
const TEXT_OFFSET = DONE_NS_OFFSET + WORKERS_MAX * 8;

/** What is kept of a failed worker's words. */
export const TEXT_BYTES_MAX = 2048;

const CONTROL_BYTES = TEXT_OFFSET + TEXT_BYTES_MAX;

export type ControlBlock = {
  readonly buffer: SharedArrayBuffer;
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly unsigned: Uint32Array<SharedArrayBuffer>;
  readonly readyNs: BigInt64Array<SharedArrayBuffer>;
  readonly doneNs: BigInt64Array<SharedArrayBuffer>;
  readonly text: Uint8Array<SharedArrayBuffer>;
};

/** The views of a control block; without a buffer, of a new one. */
export function controlBlock(
  buffer: SharedArrayBuffer = new SharedArrayBuffer(CONTROL_BYTES),
): ControlBlock {
  return {
    buffer,
    words: new Int32Array(buffer, 0, READY_NS_OFFSET / 4),
    unsigned: new Uint32Array(buffer, 0, READY_NS_OFFSET / 4),
    readyNs: new BigInt64Array(buffer, READY_NS_OFFSET, WORKERS_MAX),
    doneNs: new BigInt64Array(buffer, DONE_NS_OFFSET, WORKERS_MAX),
    text: new Uint8Array(buffer, TEXT_OFFSET, TEXT_BYTES_MAX),
  };
}

/** Wakes the main thread, or makes its next look find something. */
export function raiseSignal(control: ControlBlock): void {
  Atomics.add(control.words, WORD.signal, 1);
  Atomics.notify(control.words, WORD.signal);
}

/** Nanoseconds on the clock that all threads of the process share. */
export const nowNs = (): bigint => process.hrtime.bigint();
