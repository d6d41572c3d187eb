// How a direct board notices what its driver does not say.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ok, VirtualClock } from "../base/mod.ts";
import type { BoardEvent } from "./board.ts";
import { createDirectBoard } from "./direct-board.ts";
import { KERNEL_LOG_POLL_MS } from "./kernel-log.ts";

const none = (): never => {
  throw Object.assign(new Error("EAGAIN"), { code: "EAGAIN" });
};

function boardOf(addresses: readonly (string | null)[]): {
  readonly events: BoardEvent[];
  readonly opened: () => number;
  readonly records: string[];
  readonly clock: VirtualClock;
  readonly begin: () => Promise<() => void>;
} {
  const clock = new VirtualClock();
  const [events, records]: [BoardEvent[], string[]] = [[], []];
  let opened = 0;
  const board = createDirectBoard({
    dies: null,
    hardware: {
      root: "/nowhere",
      clock,
      log: () => undefined,
      launchStep: () => assert.fail("nothing is asked of the bus here"),
      openKernelLog: () => {
        opened += 1;
        return {
          read: (into) => {
            const record = records.shift();
            return record === undefined
              ? none()
              : new TextEncoder().encodeInto(record, into).written;
          },
          close: () => void (opened -= 1),
        };
      },
    },
  });
  const devices = addresses.map((pciAddress, ordinal) => ({ ordinal, name: "GPU", pciAddress }));
  const begin = async (): Promise<() => void> => {
    assert.ok((await board.discover(() => Promise.resolve(ok(devices)))).ok);
    return board.watch((event) => void events.push(event));
  };
  return { events, opened: () => opened, records, clock, begin };
}

test("Xid lines become events of the die that has the address, however it is spelled", async () => {
  const { events, records, clock, begin, opened } = boardOf(["00000000:3B:00.0", "0000:5e:00.0"]);
  const forget = await begin();
  records.push("4,1,1,-;NVRM: Xid (PCI:0000:5e:00): 31, pid=1\n");
  records.push("4,2,1,-;NVRM: Xid (PCI:0000:3b:00): 79, gone\n");
  records.push("4,3,1,-;NVRM: Xid (PCI:0000:86:00): 79, another machine's share\n");
  await clock.run(() => false, KERNEL_LOG_POLL_MS + 1);
  assert.deepEqual(
    events.map(({ die, xid }) => [die, xid]),
    [
      [1, 31],
      [0, 79],
    ],
  );
  forget();
  assert.equal(opened(), 0);
});

test("for devices that are no PCI functions the kernel's log is left alone", async () => {
  const { opened, begin } = boardOf([null, null]);
  (await begin())();
  assert.equal(opened(), 0);
});
