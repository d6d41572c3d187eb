/** The ladder over the board of test/kernel/board-module, killed in every rung and finished. */
import { suite } from "node:test";
import { registerEveryKillTest } from "./board-ladder-tests.ts";

suite("killed in every rung", registerEveryKillTest);
