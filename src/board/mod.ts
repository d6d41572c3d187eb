export type {
  Board,
  BoardDie,
  BoardEvent,
  BoardFailure,
  BoardVerdict,
  CountedDevice,
  DriverBinding,
  Holder,
  Inventory,
  Presence,
  SlotKind,
  SlotView,
} from "./board.ts";
export { createDirectBoard } from "./direct-board.ts";
export { createSimBoard, type SimBoardOptions, type SimStep } from "./sim-board.ts";
