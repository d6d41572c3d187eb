import type { Dim3, GpuRefusal, Launch } from "../gpu/mod.ts";
import {
  SHARED_BYTES_PER_BLOCK_MAX,
  THREADS_PER_BLOCK_MAX,
  type CompiledKernel,
} from "../ptx/mod.ts";
import { refusal } from "./refusal.ts";

const CALL = "cuLaunchKernel";

/** CUDA's own limits, the same for every architecture since sm_30. */
const BLOCK_MAX: Dim3 = [1024, 1024, 64];
const GRID_MAX: Dim3 = [2 ** 31 - 1, 65_535, 65_535];

/** A block's linear index has 32 bits; to compute 2^32 empty blocks takes minutes. */
const BLOCKS_MAX = 2 ** 32 - 1;

const AXES = ["x", "y", "z"] as const;

/** What of a kernel decides whether a launch is accepted. */
export type LaunchedKernel = Pick<
  CompiledKernel,
  "name" | "parameterBytes" | "sharedBytes" | "threadsMax"
>;

export const blockCount = (grid: Dim3): number => grid[0] * grid[1] * grid[2];

export const threadCount = (block: Dim3): number => block[0] * block[1] * block[2];

/** Static plus dynamic shared memory of a block; the dynamic part begins aligned to 16. */
export const sharedTotal = (kernel: LaunchedKernel, dynamicBytes: number): number =>
  Math.ceil(kernel.sharedBytes / 16) * 16 + dynamicBytes;

/** Why the launch cannot be, as CUDA would say; null where it can. */
export function checkLaunch(launch: Launch, kernel: LaunchedKernel): GpuRefusal | null {
  const invalid =
    checkSizes("grid", launch.grid, GRID_MAX) ??
    checkSizes("block", launch.block, BLOCK_MAX) ??
    checkCounts(launch) ??
    checkShared(launch, kernel) ??
    checkParameters(launch, kernel);
  if (invalid !== null) return refusal("invalid_value", CALL, `kernel ${kernel.name}: ${invalid}`);
  const threads = threadCount(launch.block);
  if (threads <= kernel.threadsMax) return null;
  const message =
    `kernel ${kernel.name}: the block has ${threads} threads; it is made for at most ` +
    `${kernel.threadsMax} (.maxntid or .reqntid)`;
  return refusal("too_many_resources", CALL, message);
}

/** Each of these says what is wrong with the launch, or null where nothing is. */
type Complaint = string | null;

function checkSizes(what: "grid" | "block", sizes: Dim3, max: Dim3): Complaint {
  for (const [index, axis] of AXES.entries()) {
    const size = sizes[index] ?? 0;
    const most = max[index] ?? 0;
    if (Number.isSafeInteger(size) && size >= 1 && size <= most) continue;
    return `${what}.${axis} is ${size}; it must be a whole number from 1 to ${most}`;
  }
  return null;
}

function checkCounts({ grid, block }: Launch): Complaint {
  const blocks = blockCount(grid);
  if (blocks > BLOCKS_MAX) {
    return `the grid has ${blocks} blocks; one launch runs at most ${BLOCKS_MAX}, so split it`;
  }
  const threads = threadCount(block);
  if (threads <= THREADS_PER_BLOCK_MAX) return null;
  return `the block has ${threads} threads; at most ${THREADS_PER_BLOCK_MAX} are possible`;
}

function checkShared({ sharedBytes }: Launch, kernel: LaunchedKernel): Complaint {
  if (!Number.isSafeInteger(sharedBytes) || sharedBytes < 0) {
    return `sharedBytes is ${sharedBytes}; it must be a whole number, 0 or more`;
  }
  if (sharedTotal(kernel, sharedBytes) <= SHARED_BYTES_PER_BLOCK_MAX) return null;
  return (
    `${sharedBytes} bytes of dynamic shared memory on top of its own ${kernel.sharedBytes} ` +
    `are more than the ${SHARED_BYTES_PER_BLOCK_MAX} that a block can have`
  );
}

function checkParameters({ parameters }: Launch, kernel: LaunchedKernel): Complaint {
  if (parameters.length === kernel.parameterBytes) return null;
  return `the parameter block has ${parameters.length} bytes; it takes ${kernel.parameterBytes}`;
}
