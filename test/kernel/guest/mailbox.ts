/**
 * Protocol v2 in a guest, against a real debugfs mailbox: the module in test/kernel/module is the
 * producer, the unchanged `holdfast bridge` the daemon. The tests share one boot and, where they
 * can, one daemon; lockdown comes last, since it cannot be lifted.
 */
import { after } from "node:test";
import { registerBehaviourTests } from "./behaviour-tests.ts";
import { GuestBridge } from "./guest-bridge.ts";
import { registerJobTests } from "./job-tests.ts";
import type { GuestContext } from "./jobs.ts";
import { registerLifetimeTests } from "./lifetime-tests.ts";
import { loadModule } from "./mailbox-module.ts";
import { registerSequenceTests } from "./sequence-tests.ts";

loadModule();
const context: GuestContext = { bridge: await GuestBridge.start() };
after(async () => context.bridge.kill());

registerJobTests(context);
registerSequenceTests(context);
registerBehaviourTests(context);
registerLifetimeTests(context);
