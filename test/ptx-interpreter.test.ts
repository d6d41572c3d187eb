// Every PTX file test, on the interpreter; and every kernel's IR, through the verifier.
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  compileFront,
  createPlainMemory,
  interpret,
  parsePtx,
  printModule,
  relocateData,
  verifyKernel,
} from "../src/ptx/mod.ts";
import {
  checkErrors,
  checkRun,
  parameterBlock,
  readCaseFiles,
  type EngineOutcome,
  type EngineRequest,
} from "./ptx-cases.ts";

function pointerBytes(address: bigint, bytes: number): Uint8Array {
  const block = new ArrayBuffer(8);
  new DataView(block).setBigUint64(0, address, true);
  return new Uint8Array(block, 0, bytes);
}

/** The interpreter, behind the interface that all engines are tested through. */
function runInterpreter(request: EngineRequest): EngineOutcome {
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
  if (outcome.kind === "fault") {
    const { code, line } = outcome.fault;
    return { kind: "fault", code, line };
  }
  assert.equal(outcome.kind, "finished", "the kernel ends");
  return { kind: "finished", buffers: addresses.map((address) => memory.bytesAt(address)) };
}

for (const file of readCaseFiles()) {
  suite(`ptx/${file.fileName}`, () => {
    test("gives the errors that it announces and no others", () => {
      checkErrors(file);
    });

    test("has well-formed IR in every kernel that can be lowered", () => {
      const module = compileFront(file.text, file.fileName);
      for (const entry of module.ok ? module.value.entries : []) {
        const kernel = entry.lower();
        if (kernel.ok) verifyKernel(kernel.value);
      }
    });

    test("prints and parses to a fixed point", () => {
      const parsed = parsePtx(file.text, file.fileName);
      if (!parsed.ok) return;
      const printed = printModule(parsed.value);
      const again = parsePtx(printed, "printed.ptx");
      assert.ok(again.ok, again.ok ? "" : again.error.message);
      assert.equal(printModule(again.value), printed);
    });

    for (const run of file.runs) {
      test(`line ${String(run.line)}: ${run.text.slice(0, 60)}`, async () => {
        await checkRun(file, run, runInterpreter);
      });
    }
  });
}
