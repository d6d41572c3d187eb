/** What everything in one context shares: the driver, the context's handle, and being current. */
import { invariant } from "../base/mod.ts";
import { check, checkRelease } from "./check.ts";
import type { Libcuda } from "./libcuda-ffi.ts";

/**
 * The context that is current on this thread, by library. The driver keeps this for each thread,
 * and so does this variable, since every worker thread has a copy of this module.
 */
const currentContexts = new Map<string, bigint>();

/** No context. */
const NONE = 0n;

export type CudaScope = {
  readonly libcuda: Libcuda;
  readonly context: bigint;
  /** Makes the context current on this thread. It must be open. */
  readonly activate: () => Libcuda;
  readonly isClosed: () => boolean;
  /** Lets something of the context go; nothing where the context went before it. */
  readonly release: (call: string, act: (libcuda: Libcuda) => number) => void;
  readonly close: () => void;
};

/** The scope of a context that was just made, and is therefore current. */
export function openScope(libcuda: Libcuda, context: bigint): CudaScope {
  const key = libcuda.libraryPath;
  let isClosed = false;
  currentContexts.set(key, context);

  const makeCurrent = (): number => {
    if (currentContexts.get(key) === context) return 0;
    const code = libcuda.cuCtxSetCurrent(context);
    if (code === 0) currentContexts.set(key, context);
    return code;
  };

  return {
    libcuda,
    context,
    activate: () => {
      invariant(!isClosed, "a closed context is used no more");
      check("cuCtxSetCurrent", makeCurrent());
      return libcuda;
    },
    isClosed: () => isClosed,
    release: (call, act) => {
      if (isClosed) return;
      checkRelease("cuCtxSetCurrent", makeCurrent());
      checkRelease(call, act(libcuda));
    },
    close: () => {
      if (isClosed) return;
      isClosed = true;
      // The driver leaves no context current when it destroys the current one.
      if (currentContexts.get(key) === context) currentContexts.set(key, NONE);
      checkRelease("cuCtxDestroy_v2", libcuda.cuCtxDestroy_v2(context));
    },
  };
}

/** Wraps a release so that doing it twice is a bug, not a second call to the driver. */
export function once(what: string, act: () => void): { run: () => void; isDone: () => boolean } {
  let isDone = false;
  return {
    run: () => {
      invariant(!isDone, `${what} is released once`);
      isDone = true;
      act();
    },
    isDone: () => isDone,
  };
}
