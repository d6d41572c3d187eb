/**
 * The board in a guest: dies of the GK210's id that are PCI functions of test/kernel/board-module,
 * one window, /dev/bar_swap, in which they are mapped in turn, and a driver named as NVIDIA's is.
 */
import { registerSysfsTests } from "./board-sysfs-tests.ts";

registerSysfsTests();
