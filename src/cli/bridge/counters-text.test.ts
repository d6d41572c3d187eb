import assert from "node:assert/strict";
import { test } from "node:test";
import { countersLine } from "./counters-text.ts";

test("counters are one line a mailbox, without those that are zero", () => {
  const counters = {
    jobs: 12,
    repeated: 1,
    statuses: { ok: 11, bad_size: 1, timeout: 0 },
    rejected: { bad_crc: 3 },
  };
  assert.equal(
    countersLine("guest", counters),
    "guest: jobs=12 repeated=1 status.ok=11 status.bad_size=1 rejected.bad_crc=3",
  );
  const none = { jobs: 0, repeated: 0, statuses: {}, rejected: {} };
  assert.equal(countersLine("idle", none), "idle: jobs=0 repeated=0");
});
