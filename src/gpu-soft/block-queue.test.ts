import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { takeChunk } from "./block-queue.ts";
import { controlBlock, WORD, type ControlBlock } from "./control-block.ts";

function queueOf(blocks: number, participants: number, next = 0): ControlBlock {
  const control = controlBlock();
  control.unsigned[WORD.launch.blocks] = blocks;
  control.unsigned[WORD.launch.participants] = participants;
  control.unsigned[WORD.nextBlock] = next;
  return control;
}

test("chunks follow one another, cover every block once, and never grow", () => {
  const sizes = fc.tuple(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 1, max: 64 }));
  fc.assert(
    fc.property(sizes, ([blocks, participants]) => {
      const control = queueOf(blocks, participants);
      let end = 0;
      let largest = Infinity;
      for (let chunk = takeChunk(control); chunk !== null; chunk = takeChunk(control)) {
        assert.equal(chunk.first, end);
        assert.ok(chunk.end > chunk.first && chunk.end - chunk.first <= largest);
        largest = chunk.end - chunk.first;
        end = chunk.end;
      }
      assert.equal(end, blocks);
      assert.equal(takeChunk(control), null);
    }),
  );
});

test("the last chunks of the largest launch do not wrap around", () => {
  const blocks = 2 ** 32 - 1;
  const control = queueOf(blocks, 2, blocks - 20);
  let end = blocks - 20;
  for (let chunk = takeChunk(control); chunk !== null; chunk = takeChunk(control)) {
    assert.equal(chunk.first, end);
    end = chunk.end;
  }
  assert.equal(end, blocks);
});
