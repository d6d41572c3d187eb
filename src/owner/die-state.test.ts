import assert from "node:assert/strict";
import { test } from "node:test";

import { InvariantError } from "../base/mod.ts";
import { canFollow, nextState } from "./die-state.ts";
import type { DieState } from "./reports.ts";

test("nextState() takes the way up, and every way down that a fault can take", () => {
  const ways: readonly (readonly DieState[])[] = [
    ["absent", "discovered", "in-slot", "bound", "online"],
    ["discovered", "in-slot", "discovered"],
    ["bound", "in-slot", "in-slot", "bound"],
    ["in-slot", "faulted", "in-slot"],
    ["online", "faulted", "in-slot"],
    ["online", "lost", "in-slot"],
    ["online", "discovered", "in-slot"],
    ["bound", "faulted", "lost"],
  ];
  for (const way of ways) way.reduce((from, to) => nextState(from, to));
});

test("nextState() dies on a way that does not exist", () => {
  for (const [from, to] of [
    ["absent", "online"],
    ["discovered", "online"],
    ["online", "bound"],
    ["lost", "online"],
    ["faulted", "online"],
  ] as const) {
    assert.equal(canFollow(from, to), false);
    assert.throws(() => nextState(from, to), InvariantError);
  }
});
