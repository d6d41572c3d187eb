/** The registers that PTX predefines. A block's warps are its threads in runs of 32. */
import { unreachable } from "../../../base/mod.ts";
import type { SpecialRegister } from "../../ir/types.ts";
import type { ValueType } from "../../wasm/value-type.ts";
import type { Emitter } from "./emitter.ts";

const LANES_LOG2 = 5;
const LANE_MASK = 31;

/** Pushes a special register, and returns whether as i32 or as i64. */
export function writeSpecial(emitter: Emitter, name: SpecialRegister): ValueType {
  const { code, threadValues } = emitter;
  const lane = (): void => {
    code.get(threadValues.index).i32(LANE_MASK).op("i32.and");
  };
  switch (name) {
    case "tid.x":
    case "tid.y":
    case "tid.z":
      code.get(threadValues.local(name));
      return "i32";
    case "ntid.x":
    case "ntid.y":
    case "ntid.z":
    case "ctaid.x":
    case "ctaid.y":
    case "ctaid.z":
    case "nctaid.x":
    case "nctaid.y":
    case "nctaid.z":
      emitter.blockValue(name);
      return "i32";
    case "laneid":
      lane();
      return "i32";
    case "warpid":
      code.get(threadValues.index).i32(LANES_LOG2).op("i32.shr_u");
      return "i32";
    case "nwarpid":
      emitter.blockValue("threads").i32(LANE_MASK).op("i32.add");
      code.i32(LANES_LOG2).op("i32.shr_u");
      return "i32";
    // The device is one multiprocessor, and every grid its first.
    case "smid":
      code.i32(0);
      return "i32";
    case "nsmid":
    case "gridid":
      code.i32(1);
      return "i32";
    case "clock":
    case "clock64":
    case "globaltimer":
      code.call(emitter.context.host("clock"));
      return "i64";
    case "lanemask_eq":
      code.i32(1);
      lane();
      code.op("i32.shl");
      return "i32";
    case "lanemask_lt":
    case "lanemask_ge":
      code.i32(-1);
      lane();
      code.op("i32.shl");
      if (name === "lanemask_lt") code.i32(-1).op("i32.xor");
      return "i32";
    case "lanemask_le":
    case "lanemask_gt":
      code.i32(-2);
      lane();
      code.op("i32.shl");
      if (name === "lanemask_le") code.i32(-1).op("i32.xor");
      return "i32";
    case "dynamic_smem_size":
      emitter.blockValue("dynamicSharedBytes");
      return "i32";
    case "total_smem_size":
      emitter.blockValue("sharedBytes");
      return "i32";
    default:
      return unreachable(name);
  }
}
