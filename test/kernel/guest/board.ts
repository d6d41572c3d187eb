/**
 * The board in a guest: dies of the GK210's id that are PCI functions of test/kernel/board-module,
 * one window, /dev/bar_swap, in which they are mapped in turn, and a driver named as NVIDIA's is.
 */
import { suite } from "node:test";
import { registerDriverTests } from "./board-driver-tests.ts";
import { registerKernelKillTests, registerLadderTests } from "./board-ladder-tests.ts";
import { registerOwnerTests } from "./board-owner-tests.ts";
import { registerSlotTests } from "./board-slot-tests.ts";
import { registerSysfsTests } from "./board-sysfs-tests.ts";

// One after the other, each with its own board and its own end.
suite("sysfs", registerSysfsTests);
suite("driver", registerDriverTests);
suite("slot", registerSlotTests);
suite("owner", registerOwnerTests);
suite("ladder", registerLadderTests);
suite("killed", registerKernelKillTests);
