/**
 * The address of a memory access, checked: within a live allocation, the block's shared memory or
 * the thread's local memory, and aligned. What is wrong faults with the instruction's place.
 */
import { GRANULE_BYTES } from "../../abi.ts";
import type { Address, Position, StateSpace } from "../../ir/types.ts";
import type { Code, Label } from "../../wasm/code.ts";
import type { BlockValueName } from "./block-values.ts";
import type { Emitter } from "./emitter.ts";

export type Access = {
  readonly address: Address;
  readonly space: StateSpace | "generic";
  /** Of the whole access, a power of two: it is aligned to this. */
  readonly bytes: number;
  readonly position: Position;
};

/** An address in a local, to which a constant is added. */
export type CheckedAddress = { readonly local: number; readonly offset: number };

/** Where a variable is accessed at a place known to be inside it, no check is needed. */
function knownInside(emitter: Emitter, { address, bytes }: Access): number | null {
  if (address.base.kind !== "symbol") return null;
  const { symbol } = address.base;
  const offset = symbol.offset + address.offset;
  const end = {
    param: emitter.kernel.parameterBytes,
    shared: emitter.kernel.sharedBytes,
    local: emitter.kernel.localBytes,
    global: symbol.offset + symbol.bytes,
    const: symbol.offset + symbol.bytes,
  }[symbol.space];
  return offset >= 0 && offset + bytes <= end && offset % bytes === 0 ? offset : null;
}

/** Checks an access and leaves its address in a temporary. */
export function checkAddress(emitter: Emitter, access: Access): CheckedAddress {
  const { code } = emitter;
  const { base } = access.address;
  const known = knownInside(emitter, access);
  if (known !== null && base.kind === "symbol") {
    emitter.symbolBase(base.symbol);
    return { local: emitter.spill("i32"), offset: known };
  }
  pushAddress(emitter, access.address);
  const wide = emitter.spill("i64");
  code.get(wide).op("i32.wrap_i64");
  const local = emitter.spill("i32");
  const good = code.block();
  switch (access.space) {
    case "global":
    case "const":
      check(code, (bad) => {
        checkGranule(emitter, { wide, local, bytes: access.bytes, bad });
      })
        .branch(good)
        .end();
      break;
    case "shared":
      isShared(emitter, wide, access.bytes).branchIf(good);
      break;
    case "local":
      isLocal(emitter, wide, access.bytes).branchIf(good);
      break;
    case "param":
      isParameter(emitter, wide, access.bytes).branchIf(good);
      break;
    case "generic":
      check(code, (bad) => {
        checkGranule(emitter, { wide, local, bytes: access.bytes, bad });
      })
        .branch(good)
        .end();
      isShared(emitter, wide, access.bytes).branchIf(good);
      if (emitter.kernel.localBytes > 0) isLocal(emitter, wide, access.bytes).branchIf(good);
      break;
  }
  emitFault(emitter, { wide, bytes: access.bytes, position: access.position });
  code.end();
  return { local, offset: 0 };
}

/** Opens a block that `write` may leave by the label it is given. */
function check(code: Code, write: (bad: Label) => void): Code {
  write(code.block());
  return code;
}

/** Pushes the 64-bit address, without wrapping at 4 GiB. */
function pushAddress(emitter: Emitter, { base, offset }: Address): void {
  const { code } = emitter;
  switch (base.kind) {
    case "register":
      // A 32-bit register is zero-extended: addresses have no sign.
      emitter.read({ kind: "register", id: base.id }, addressType(emitter, base.id));
      if (addressType(emitter, base.id) === "u32") code.op("i64.extend_i32_u");
      break;
    case "symbol":
      emitter.symbolAddress(base.symbol).op("i64.extend_i32_u");
      break;
    case "absolute":
      code.i64(0);
      break;
  }
  if (offset !== 0) code.i64(BigInt(offset)).op("i64.add");
}

function addressType(emitter: Emitter, id: number): "u32" | "u64" {
  return /64$/.test(emitter.typeOf(id)) ? "u64" : "u32";
}

type GranuleCheck = {
  readonly wide: number;
  readonly local: number;
  readonly bytes: number;
  readonly bad: Label;
};

/** Leaves by `bad` unless the bytes are aligned and belong to a live allocation. */
function checkGranule(emitter: Emitter, { wide, local, bytes, bad }: GranuleCheck): void {
  const { code } = emitter;
  const granuleLog2 = Math.log2(GRANULE_BYTES);
  code.get(wide).i64(granuleLog2).op("i64.shr_u");
  emitter.blockValue("granuleCount").op("i64.ge_u").branchIf(bad);
  if (bytes > 1) {
    code
      .get(local)
      .i32(bytes - 1)
      .op("i32.and")
      .branchIf(bad);
  }
  code
    .get(local)
    .i32(GRANULE_BYTES - 1)
    .op("i32.and")
    .i32(bytes)
    .op("i32.add");
  emitter.blockValue("granules").get(local).i32(granuleLog2).ops("i32.shr_u", "i32.add");
  code.memory("i32.load8_u").op("i32.gt_u").branchIf(bad);
}

/**
 * Pushes whether an access lies in a window, whose start (an i64) `pushStart` pushes, and the
 * number of aligned accesses of this size it has room for, `pushRoom`. Rotating the distance from
 * the start by the size puts misaligned bits on top, so that one comparison tells both.
 */
function isInWindow(
  code: Code,
  { wide, bytes }: { readonly wide: number; readonly bytes: number },
  pushStart: () => void,
  pushRoom: () => void,
): Code {
  const log2 = Math.log2(bytes);
  code.get(wide);
  pushStart();
  code.op("i64.sub");
  if (log2 > 0) code.i64(log2).op("i64.rotr");
  pushRoom();
  return code.op("i64.lt_u");
}

const SHARED_ROOM: Readonly<Record<number, BlockValueName>> = {
  1: "sharedBy1",
  2: "sharedBy2",
  4: "sharedBy4",
  8: "sharedBy8",
  16: "sharedBy16",
  32: "sharedBy32",
};

function isShared(emitter: Emitter, wide: number, bytes: number): Code {
  return isInWindow(
    emitter.code,
    { wide, bytes },
    () => emitter.blockValue("sharedWide"),
    () => emitter.blockValue(SHARED_ROOM[bytes] ?? "sharedBy32"),
  );
}

function isLocal(emitter: Emitter, wide: number, bytes: number): Code {
  const { code } = emitter;
  return isInWindow(
    code,
    { wide, bytes },
    () => code.get(emitter.threadValues.local("local")).op("i64.extend_i32_u"),
    () => code.i64(Math.floor(emitter.kernel.localBytes / bytes)),
  );
}

function isParameter(emitter: Emitter, wide: number, bytes: number): Code {
  const { code } = emitter;
  return isInWindow(
    code,
    { wide, bytes },
    () => emitter.blockValue("parameters").op("i64.extend_i32_u"),
    () => code.i64(Math.floor(emitter.kernel.parameterBytes / bytes)),
  );
}

type FaultSite = { readonly wide: number; readonly bytes: number; readonly position: Position };

function emitFault(emitter: Emitter, { wide, bytes, position }: FaultSite): void {
  const { code } = emitter;
  code.i32(0).get(wide).i32(bytes).get(emitter.threadValues.index);
  code.i32(position.line).i32(position.column);
  emitter.call("fault").op("unreachable");
}
