import { invariant } from "../../base/mod.ts";
import { successorsOf } from "./successors.ts";
import type { BasicBlock, BlockId, Instruction, Position, Terminator } from "./types.ts";

type OpenBlock = { readonly instructions: Instruction[]; terminator: Terminator | null };

/** The same terminator with its targets renamed. */
function retarget(terminator: Terminator, rename: (block: BlockId) => BlockId): Terminator {
  switch (terminator.kind) {
    case "jump":
      return { ...terminator, target: rename(terminator.target) };
    case "branch": {
      const { onTrue, onFalse } = terminator;
      return { ...terminator, onTrue: rename(onTrue), onFalse: rename(onFalse) };
    }
    case "barrier":
      return { ...terminator, resume: rename(terminator.resume) };
    case "exit":
    case "trap":
      return terminator;
  }
}

/** Grows a control-flow graph: instructions go to the current block until a terminator ends it. */
export class BlockBuilder {
  readonly #blocks: OpenBlock[] = [{ instructions: [], terminator: null }];
  #current: BlockId = 0;

  /** A new block, empty and reached by nothing yet. */
  create(): BlockId {
    this.#blocks.push({ instructions: [], terminator: null });
    return this.#blocks.length - 1;
  }

  append(instruction: Instruction): void {
    this.#open(this.#current).instructions.push(instruction);
  }

  /** Ends the current block, and goes on in `next`. */
  terminate(terminator: Terminator, next: BlockId): void {
    const block = this.#open(this.#current);
    invariant(block.terminator === null, "a block ends once");
    block.terminator = terminator;
    this.#current = next;
  }

  /** Goes on in `block`, which the terminator before has named already. */
  goOnIn(block: BlockId): void {
    this.#current = block;
  }

  /** Goes on in `block`, into which the current block falls through. */
  fallInto(block: BlockId, position: Position): void {
    this.terminate({ kind: "jump", target: block, position }, block);
  }

  /**
   * Ends the last block with an exit, and gives the blocks that can be reached from the first, in
   * the order of the text.
   */
  finish(end: Position): readonly BasicBlock[] {
    this.terminate({ kind: "exit", position: end }, this.#current);
    const reached = this.#reachable();
    const names = new Map([...reached].sort((a, b) => a - b).map((id, index) => [id, index]));
    return [...names.keys()].map((id) => {
      const { instructions } = this.#open(id);
      return { instructions, terminator: retarget(this.#end(id), (to) => names.get(to) ?? -1) };
    });
  }

  #reachable(): Set<BlockId> {
    const reached = new Set<BlockId>([0]);
    for (const id of reached) for (const to of successorsOf(this.#end(id))) reached.add(to);
    return reached;
  }

  #open(id: BlockId): OpenBlock {
    const block = this.#blocks[id];
    invariant(block !== undefined, `block ${id} exists`);
    return block;
  }

  #end(id: BlockId): Terminator {
    const { terminator } = this.#open(id);
    invariant(terminator !== null, `block ${id} has an end`);
    return terminator;
  }
}
