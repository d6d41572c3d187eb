import type { MessagePort } from "node:worker_threads";

/** What a worker is started with. */
export type WorkerStart = {
  readonly index: number;
  readonly memory: WebAssembly.Memory;
  readonly control: SharedArrayBuffer;
  /** Brings WorkerMessages; read when a doorbell has rung. */
  readonly port: MessagePort;
};

/** Sent before the first launch of a kernel, and once the kernel is gone. */
export type WorkerMessage =
  | { readonly kind: "kernel"; readonly id: number; readonly module: WebAssembly.Module }
  | { readonly kind: "drop"; readonly id: number };
