/** The engines, behind the interface that all of them are tested through. */
import assert from "node:assert/strict";
import { compileKernel } from "../src/ptx/codegen/compile.ts";
import { TestDevice } from "../src/ptx/codegen/testing.ts";
import { createPlainMemory, interpret, relocateData } from "../src/ptx/mod.ts";
import { parameterBlock, type EngineOutcome, type EngineRequest } from "./ptx-cases.ts";

function pointerBytes(address: bigint, bytes: number): Uint8Array {
  const block = new ArrayBuffer(8);
  new DataView(block).setBigUint64(0, address, true);
  return new Uint8Array(block, 0, bytes);
}

/** The oracle. */
export function runInterpreter(request: EngineRequest): EngineOutcome {
  const { kernel, module, grid, block, dynamicSharedBytes } = request;
  const memory = createPlainMemory();
  const addresses: bigint[] = [];
  const values = request.arguments.map(({ kind, bytes }, index) => {
    if (kind === "scalar") return bytes;
    const address = memory.allocate(bytes);
    addresses.push(address);
    return pointerBytes(address, kernel.parameters[index]?.bytes ?? 8);
  });
  const dataAddress = memory.allocate(module.data.bytes);
  memory.bytesAt(dataAddress).set(relocateData(module.data, dataAddress));
  const parameters = parameterBlock(kernel, values);
  const launch = { grid, block, dynamicSharedBytes, parameters };
  const outcome = interpret({ kernel, launch, memory, dataAddress });
  if (outcome.kind === "fault") return { ...outcome.fault, kind: "fault" };
  assert.equal(outcome.kind, "finished", "the kernel ends");
  return { kind: "finished", buffers: addresses.map((address) => memory.bytesAt(address)) };
}

/** Compiled code, on a device of its own. */
export function runCompiled(request: EngineRequest): EngineOutcome {
  const { kernel, module, grid, block, dynamicSharedBytes } = request;
  const device = new TestDevice();
  const buffers: { address: number; bytes: number }[] = [];
  const values = request.arguments.map(({ kind, bytes }, index) => {
    if (kind === "scalar") return bytes;
    const address = device.allocate(bytes);
    buffers.push({ address, bytes: bytes.length });
    return pointerBytes(BigInt(address), kernel.parameters[index]?.bytes ?? 8);
  });
  const fault = device.run(compileKernel(kernel), {
    grid,
    block,
    dynamicSharedBytes,
    parameters: parameterBlock(kernel, values),
    moduleData: device.placeData(module.data),
  });
  if (fault !== null) return { kind: "fault", code: fault.code, line: fault.line };
  return {
    kind: "finished",
    buffers: buffers.map(({ address, bytes }) => device.bytesAt(address, bytes).slice()),
  };
}
