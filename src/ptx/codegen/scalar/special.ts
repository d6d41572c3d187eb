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
    case "clock":
    case "clock64":
    case "globaltimer":
      code.call(emitter.context.host("clock"));
      return "i64";
    case "dynamic_smem_size":
      emitter.blockValue("dynamicSharedBytes");
      return "i32";
    case "total_smem_size":
      emitter.blockValue("sharedBytes");
      return "i32";
    case "laneid":
    case "warpid":
    case "nwarpid":
    case "smid":
    case "nsmid":
    case "gridid":
    case "lanemask_eq":
    case "lanemask_lt":
    case "lanemask_ge":
    case "lanemask_le":
    case "lanemask_gt":
      writeWarpSpecial(emitter, name);
      return "i32";
    default:
      return unreachable(name);
  }
}

type WarpSpecial =
  | "laneid"
  | "warpid"
  | "nwarpid"
  | "smid"
  | "nsmid"
  | "gridid"
  | Extract<SpecialRegister, `lanemask_${string}`>;

/** Pushes a register about warps, or about the machine, as i32. */
function writeWarpSpecial(emitter: Emitter, name: WarpSpecial): void {
  const { code, threadValues } = emitter;
  switch (name) {
    case "laneid":
      code.get(threadValues.index).i32(LANE_MASK).op("i32.and");
      return;
    case "warpid":
      code.get(threadValues.index).i32(LANES_LOG2).op("i32.shr_u");
      return;
    case "nwarpid":
      emitter.blockValue("threads").i32(LANE_MASK).op("i32.add");
      code.i32(LANES_LOG2).op("i32.shr_u");
      return;
    // The device is one multiprocessor, and every grid its first.
    case "smid":
      code.i32(0);
      return;
    case "nsmid":
    case "gridid":
      code.i32(1);
      return;
    case "lanemask_eq":
    case "lanemask_lt":
    case "lanemask_ge":
    case "lanemask_le":
    case "lanemask_gt": {
      // All lanes from this one, or from the next, upwards; the lower ones are the others.
      const { start, isInverted } = LANE_MASK_OF[name];
      code.i32(start).get(threadValues.index).i32(LANE_MASK).ops("i32.and", "i32.shl");
      if (isInverted) code.i32(-1).op("i32.xor");
      return;
    }
    default:
      unreachable(name);
  }
}

const LANE_MASK_OF = {
  lanemask_eq: { start: 1, isInverted: false },
  lanemask_ge: { start: -1, isInverted: false },
  lanemask_lt: { start: -1, isInverted: true },
  lanemask_gt: { start: -2, isInverted: false },
  lanemask_le: { start: -2, isInverted: true },
} as const;
