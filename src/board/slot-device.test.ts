import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { test } from "node:test";
import { checkSlotDevice } from "./slot-device.ts";
import { createSysTree } from "./testing.ts";

test("a device that is not there, or is something else, is named with its mend", () => {
  const tree = createSysTree();
  const check = (path: string): string | null => {
    const checked = checkSlotDevice(tree.root, path);
    return checked.ok ? null : checked.error;
  };
  assert.match(check("dev/bar_swap") ?? "", /no dev\/bar_swap: load the kernel module .*doctor/);
  tree.write("dev/bar_swap", "");
  assert.match(check("dev/bar_swap") ?? "", /is not a character device/);
  assert.match(check("dev/bar_swap/more") ?? "", /there is no/);
  tree.link("dev/null", "/dev/null");
  assert.equal(check("dev/null"), null);
  tree.end();
});

/** Root's own: others may read it at most. */
const KERNEL_LOG = "/dev/kmsg";

const isOthers = (): boolean => (statSync(KERNEL_LOG).mode & 0o002) !== 0;

test(
  "a device that may not be opened says who may",
  { skip: !existsSync(KERNEL_LOG) || isOthers() ? `${KERNEL_LOG} is not root's alone` : false },
  () => {
    const url = JSON.stringify(new URL("./slot-device.js", import.meta.url).href);
    // Loaded first: nobody may perhaps not read the program, nor run the Node that is used.
    const script =
      `const { checkSlotDevice } = await import(${url});` +
      "if (process.getuid() === 0) for (const set of ['setgroups', 'setgid', 'setuid'])" +
      " process[set](set === 'setgroups' ? [] : 65534);" +
      `console.log(JSON.stringify(checkSlotDevice("/", "${KERNEL_LOG}")));`;
    const run = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      cwd: "/",
    });
    assert.match(
      run.stdout + run.stderr,
      /may not be opened for reading and writing: run it as root/,
    );
  },
);
