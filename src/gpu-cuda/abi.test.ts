import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import {
  CONTEXT_SCHED_BLOCKING_SYNC,
  DEVICE_ATTRIBUTE,
  FUNCTION_ATTRIBUTE,
  JIT_OPTION,
  OPTIONAL_SYMBOLS,
  REQUIRED_SYMBOLS,
  STREAM_NON_BLOCKING,
} from "./abi.ts";
import { LIBCUDA_PATHS } from "./libcuda-ffi.ts";

const HEADER = "/usr/local/cuda/include/cuda.h";
const skip = existsSync(HEADER) ? false : `no ${HEADER} on this machine`;
const header = existsSync(HEADER) ? readFileSync(HEADER, "utf8") : "";

/** The value of an enumerator; implicit ones count on from the last explicit one. */
function enumerator(name: string): number | null {
  const end = header.search(new RegExp(`\\b${name}\\b\\s*(?:=|,)`));
  const start = header.lastIndexOf("enum ", end);
  let value = -1;
  for (const [, member, text] of header
    .slice(header.indexOf("{", start), header.indexOf("}", end))
    .replaceAll(/\/\*[^]*?\*\//g, "")
    .matchAll(/\b(CU_\w+)\s*(?:=\s*(0x[\da-fA-F]+|\d+))?\s*(?=,|$|\})/gm)) {
    value = text === undefined ? value + 1 : Number(text);
    if (member === name) return value;
  }
  return null;
}

const numbers: readonly (readonly [name: string, value: number])[] = [
  ["CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK", DEVICE_ATTRIBUTE.maxThreadsPerBlock],
  ["CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK", DEVICE_ATTRIBUTE.maxSharedMemoryPerBlock],
  ["CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT", DEVICE_ATTRIBUTE.multiprocessorCount],
  ["CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR", DEVICE_ATTRIBUTE.computeCapabilityMajor],
  ["CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR", DEVICE_ATTRIBUTE.computeCapabilityMinor],
  [
    "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    DEVICE_ATTRIBUTE.maxSharedMemoryPerBlockOptin,
  ],
  ["CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES", FUNCTION_ATTRIBUTE.sharedSizeBytes],
  ["CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", FUNCTION_ATTRIBUTE.maxDynamicSharedSizeBytes],
  ["CU_JIT_ERROR_LOG_BUFFER", JIT_OPTION.errorLogBuffer],
  ["CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES", JIT_OPTION.errorLogBufferSizeBytes],
  ["CU_CTX_SCHED_BLOCKING_SYNC", CONTEXT_SCHED_BLOCKING_SYNC],
  ["CU_STREAM_NON_BLOCKING", STREAM_NON_BLOCKING],
];

for (const [name, value] of numbers) {
  test(`${name} is ${value} in cuda.h`, { skip }, () => {
    assert.equal(enumerator(name), value);
  });
}

/** Calls that a newer cuda.h declares with a newer version only; the library still exports ours. */
const NEWER_IN_HEADER = new Set(["cuCtxCreate_v2", "cuEventElapsedTime"]);

/** Arguments in C, as many as commas say. */
function argumentCount(symbol: string): number | null {
  // cuda.h defines `cuMemAlloc` as `cuMemAlloc_v2`, and declares the plain name.
  const plain = symbol.replace(/_v2$/, "");
  const declared = new RegExp(`CUresult CUDAAPI ${plain}\\(([^)]*)\\);`).exec(header);
  return declared?.[1] === undefined ? null : declared[1].split(",").length;
}

for (const [symbol, { args }] of Object.entries({ ...REQUIRED_SYMBOLS, ...OPTIONAL_SYMBOLS })) {
  test(`${symbol} takes ${args.length} arguments in cuda.h`, { skip }, () => {
    const count = argumentCount(symbol);
    if (count === null) assert.ok(NEWER_IN_HEADER.has(symbol), `${symbol} is not declared`);
    else if (!NEWER_IN_HEADER.has(symbol)) assert.equal(count, args.length);
    const plain = symbol.replace(/_v2$/, "");
    const define = `#define ${plain}\\s+(?:__CUDA_API_PTSZ\\()?(\\w+)`;
    const renamed = new RegExp(define).exec(header);
    if (!NEWER_IN_HEADER.has(symbol)) assert.equal(renamed?.[1] ?? symbol, symbol);
  });
}

test("the driver is never looked for under the stub's name", () => {
  assert.equal(LIBCUDA_PATHS[0], "libcuda.so.1");
  for (const path of LIBCUDA_PATHS) assert.match(path, /(?:^|\/)libcuda\.so\.1$/);
});
