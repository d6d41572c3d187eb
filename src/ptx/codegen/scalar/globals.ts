/** The wasm globals of a compiled kernel: what `run` sets and the regions read. All are i32. */
export const GLOBAL = {
  /** Addresses of the launch descriptor and of this worker's scratch area. */
  launch: 0,
  scratch: 1,
  /** The block that runs now: its linear index, and its coordinates in the grid. */
  block: 2,
  blockX: 3,
  blockY: 4,
  blockZ: 5,
} as const;

export const GLOBAL_COUNT = Object.keys(GLOBAL).length;
