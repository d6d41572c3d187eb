// What a keeper tells its hosts of the window they are behind.
import assert from "node:assert/strict";
import { test } from "node:test";

import { VirtualClock } from "../base/mod.ts";
import { HostKeeper } from "./host-keeper.ts";

/** Every call that a host was sent, e.g. `2 window {"die":null}`. */
function createBench(hasWindow: boolean): { keeper: HostKeeper; sent: string[] } {
  const sent: string[] = [];
  let hosts = 0;
  const keeper = new HostKeeper({
    launch: () => {
      const pid = ++hosts;
      return {
        pid,
        write: (frame) => {
          const { call, body } = JSON.parse(frame.toString("utf8", 4)) as Record<string, unknown>;
          sent.push(`${String(pid)} ${String(call)} ${JSON.stringify(body)}`);
        },
        onData: () => undefined,
        onEnd: () => undefined,
        kill: () => undefined,
      };
    },
    hasWindow,
    clock: new VirtualClock(),
    onDeath: () => undefined,
    onNote: () => undefined,
  });
  return { keeper, sent };
}

const cause = { name: "test", code: 0, call: "test", message: "test" };

test("a host behind a window is told what that shows as it starts, and if that is no die", () => {
  const { keeper, sent } = createBench(true);
  const first = keeper.link();
  void keeper.tellWindow(3);
  keeper.kill(first, cause);
  keeper.kill(keeper.link(), cause);
  void keeper.tellWindow(null);
  keeper.link();
  const told = ['1 window {"die":null}', '1 window {"die":3}'];
  assert.deepEqual(sent, [...told, '2 window {"die":3}', '3 window {"die":null}']);
});

test("a host whose dies are all mapped is told of no window", () => {
  const { keeper, sent } = createBench(false);
  keeper.link();
  void keeper.tellWindow(null);
  assert.deepEqual(sent, []);
});
