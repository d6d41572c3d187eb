import assert from "node:assert/strict";
import { test } from "node:test";

import fc from "fast-check";

import { SIM_FAULTS, type SimFaultName } from "../board/mod.ts";
import { parseScenario } from "./scenario-parse.ts";

const errorOf = (value: unknown): string => {
  const parsed = parseScenario(typeof value === "string" ? value : JSON.stringify(value));
  return parsed.ok ? "" : parsed.error;
};

test("parseScenario() takes an empty object: two dies, nothing goes wrong", () => {
  const parsed = parseScenario("{}");
  assert.ok(parsed.ok);
  const { machine, workload } = parsed.value;
  assert.deepEqual([machine.boards, machine.diesPerBoard, machine.faults], [1, 2, []]);
  assert.ok(workload.clients > 0 && workload.operations > 0);
});

test("parseScenario() takes each fault at each step at which it may strike, and no other", () => {
  for (const kind of Object.keys(SIM_FAULTS) as SimFaultName[]) {
    for (const step of SIM_FAULTS[kind].steps)
      assert.equal(errorOf({ faults: [{ kind, step }] }), "");
    assert.equal(errorOf({ faults: [{ kind }] }), "");
    assert.match(errorOf({ faults: [{ kind, step: "lunch" }] }), /faults\[0\]\.step is "lunch"/);
  }
  assert.match(errorOf({ faults: [{ kind: "refused", step: "kernel" }] }), /use one of acquire/);
});

test("parseScenario() says where something is wrong, and what to write instead", () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    ["{", /^not JSON: /],
    [[], /^the scenario is \[\]; it has to be an object/],
    [{ board: 1 }, /^board is not known; use one of name, about, boards/],
    [{ boards: 0 }, /^boards is 0; use a whole number from 1 to 32/],
    [{ boards: 4, diesPerBoard: 9 }, /^diesPerBoard is 9; use a whole number from 1 to 8/],
    [{ latencyMs: { bind: [5, 1] } }, /^latencyMs\.bind is \[5,1\]; a range is \[from, to\]/],
    [{ latencyMs: { bind: "5" } }, /^latencyMs\.bind is "5"; use a number/],
    [{ latencyMs: { lunch: 5 } }, /^latencyMs\.lunch is not known/],
    [{ faults: {} }, /^faults is {}; it has to be a list/],
    [{ faults: [{}] }, /^faults\[0\]\.kind is missing; use one of refused, hang/],
    [{ faults: [{ kind: "hang", die: 2 }] }, /^faults\[0\]\.die is 2; .* from 0 to 1/],
    [
      { faults: [{ kind: "hang", nth: 1, probability: 0.1 }] },
      /^faults\[0\]\.probability is 0\.1; leave it out/,
    ],
    [{ faults: [{ kind: "hang", probability: 2 }] }, /probability is 2; use a number from 0 to 1/],
    [{ faults: [{ kind: "xid", xids: [] }] }, /^faults\[0\]\.xids is \[\]; name one Xid/],
    [{ faults: [{ kind: "off_bus", silent: 1 }] }, /silent is 1; use true or false/],
    [{ window: { hold: 1 } }, /^window\.hold is not known; use one of minimumHoldMs/],
    [{ workload: { mix: { work: 0 } } }, /^workload\.mix is .*; give one operation a weight/],
    [{ workload: { mix: { lunch: 1 } } }, /^workload\.mix\.lunch is not known/],
    [
      { workload: { script: [{ operation: "online", die: 7 }] } },
      /^workload\.script\[0\]\.die is 7; use a whole number from 0 to 1/,
    ],
  ];
  for (const [value, expected] of cases) assert.match(errorOf(value), expected);
});

test("parseScenario() never throws, whatever it is given", () => {
  fc.assert(fc.property(fc.json(), (text) => typeof errorOf(text) === "string"));
  fc.assert(fc.property(fc.string(), (text) => typeof errorOf(text) === "string"));
});
