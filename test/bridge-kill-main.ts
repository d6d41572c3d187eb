// A bridge daemon for bridge-kill.test.ts: it serves one v2 mailbox until it is killed, and notes
// each execution in a file before it begins.
//
//   node bridge-kill-main.js FOLDER fast|soft
//
// `fast`: dies in this process, in plain JavaScript. `soft`: the real owner and its die host over
// the software GPU.
import { appendFileSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { invariant, systemClock } from "../src/base/mod.ts";
import { createBridge, type BridgeOptions } from "../src/bridge/mod.ts";
import { createFastDies, mailboxV2In } from "../src/bridge/testing.ts";

const [, , folder = "", mode = ""] = process.argv;
const BASE_PTX = fileURLToPath(new URL("../../kernels/base.ptx", import.meta.url));

// The real owner's code is loaded where it is used: half of the rounds' time is starting up.
const owner: BridgeOptions["owner"] =
  mode === "soft"
    ? (await import("./bridge-owner.ts")).createSoftOwner(1)
    : createFastDies({ dies: 1 });

const lines = openSync(join(folder, "lines"), "a");
const bridge = createBridge({
  owner: {
    discover: owner.discover,
    run: (die, job) => {
      appendFileSync(join(folder, "executions"), `${job.check?.sampleSeed ?? ""}\n`);
      return owner.run(die, job);
    },
  },
  mailboxes: [mailboxV2In(join(folder, "box"), { timeoutMs: 10_000 })],
  baseModule: { name: "base.ptx", path: BASE_PTX },
  stateDirectory: join(folder, "state"),
  pollUs: null,
  clock: systemClock,
  printJobLine: (line) => {
    writeSync(lines, `${line}\n`);
  },
  log: (line) => appendFileSync(join(folder, "log"), `${line}\n`),
});
invariant(bridge.ok, bridge.ok ? "" : bridge.error.message);
appendFileSync(join(folder, "log"), "up\n");
await bridge.value.run();
