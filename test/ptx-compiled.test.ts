// Every PTX file test, as compiled code.
import { suite, test } from "node:test";
import { compileKernel } from "../src/ptx/codegen/compile.ts";
import { TestDevice } from "../src/ptx/codegen/testing.ts";
import {
  checkRun,
  parameterBlock,
  readCaseFiles,
  type EngineOutcome,
  type EngineRequest,
} from "./ptx-cases.ts";

function pointerBytes(address: number, bytes: number): Uint8Array {
  const block = new ArrayBuffer(8);
  new DataView(block).setBigUint64(0, BigInt(address), true);
  return new Uint8Array(block, 0, bytes);
}

/** Compiled code, behind the interface that all engines are tested through. */
export function runCompiled(request: EngineRequest): EngineOutcome {
  const { kernel, module, grid, block, dynamicSharedBytes } = request;
  const device = new TestDevice();
  const buffers: { address: number; bytes: number }[] = [];
  const values = request.arguments.map(({ kind, bytes }, index) => {
    if (kind === "scalar") return bytes;
    const address = device.allocate(bytes);
    buffers.push({ address, bytes: bytes.length });
    return pointerBytes(address, kernel.parameters[index]?.bytes ?? 8);
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

for (const file of readCaseFiles()) {
  suite(`compiled ptx/${file.fileName}`, () => {
    for (const run of file.runs) {
      test(`line ${String(run.line)}: ${run.text.slice(0, 60)}`, async () => {
        await checkRun(file, run, runCompiled);
      });
    }
  });
}
