/**
 * How workers share out the blocks of a launch. Blocks are taken in order, from one counter, so any
 * block that runs can rely on all before it having been started (decoupled look-back does). Chunks
 * shrink towards the end, so that workers finish together.
 */
import { WORD, type ControlBlock } from "./control-block.ts";

/** The most blocks in a chunk: small enough that compiled code is swapped for better soon. */
const CHUNK_BLOCKS_MAX = 256;

/** A chunk is at most this part of one worker's fair share of what is left. */
const CHUNKS_PER_SHARE = 4;

/** Blocks [first, end), by linear index. */
export type Chunk = { readonly first: number; readonly end: number };

/** Takes the next chunk of the launch, or null when all blocks are taken. */
export function takeChunk(control: ControlBlock): Chunk | null {
  const { unsigned } = control;
  const blocks = Atomics.load(unsigned, WORD.launch.blocks);
  const shares = Atomics.load(unsigned, WORD.launch.participants) * CHUNKS_PER_SHARE;
  let first = Atomics.load(unsigned, WORD.nextBlock);
  while (first < blocks) {
    const wished = Math.ceil((blocks - first) / shares);
    const end = first + Math.min(wished, CHUNK_BLOCKS_MAX);
    const seen = Atomics.compareExchange(unsigned, WORD.nextBlock, first, end);
    if (seen === first) return { first, end };
    first = seen;
  }
  return null;
}
