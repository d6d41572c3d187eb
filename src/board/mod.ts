export type {
  Board,
  BoardDie,
  BoardFailure,
  CountedDevice,
  DriverBinding,
  Inventory,
  SlotKind,
  SlotView,
} from "./board.ts";
export { createDirectBoard } from "./direct-board.ts";
export { createSimBoard, type SimBoardOptions, type SimStep } from "./sim-board.ts";
