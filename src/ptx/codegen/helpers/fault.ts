/** How compiled code stops: it fills the fault record and traps. */
import { FAULT, FAULT_CODE } from "../../abi.ts";
import { GLOBAL } from "../scalar/globals.ts";
import type { Helper } from "./helper.ts";

/**
 * (code, address, bytes, thread, line, column): never returns. Code 0 asks it to find out what is
 * wrong with an address: misalignment is seen before the bounds are, as on the device.
 */
const fault: Helper = {
  type: { parameters: ["i32", "i64", "i32", "i32", "i32", "i32"], results: [] },
  write: (code) => {
    const [kind, address, bytes, thread, line, column] = [0, 1, 2, 3, 4, 5];
    code.get(kind).op("i32.eqz").if();
    code.i32(FAULT_CODE.misalignedAddress).i32(FAULT_CODE.illegalAddress);
    code.get(address).op("i32.wrap_i64").get(bytes).i32(1).ops("i32.sub", "i32.and");
    code.op("select").set(kind).end();
    const word = (offset: number, local: number): void => {
      code.getGlobal(GLOBAL.scratch).get(local).memory("i32.store", offset);
    };
    code.getGlobal(GLOBAL.scratch).get(address).memory("i64.store", FAULT.address);
    code.getGlobal(GLOBAL.scratch).getGlobal(GLOBAL.block).memory("i32.store", FAULT.block);
    word(FAULT.bytes, bytes);
    word(FAULT.thread, thread);
    word(FAULT.line, line);
    word(FAULT.column, column);
    word(FAULT.code, kind);
    code.op("unreachable");
  },
};

export const FAULT_HELPERS = { fault } as const;
