/** Launches: the catalogue's kernels against their references, shapes, limits, shared memory. */
import assert from "node:assert/strict";
import type { Dim3 } from "../gpu.ts";
import { packParameters } from "../parameters.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { asU32, conformanceCase, expectOk, whole } from "./bench.ts";
import { GATHER_ARGUMENTS, GATHER_BYTES, SAMPLE_PTX } from "./sample-ptx.ts";

type Refused = readonly [what: string, grid: Dim3, block: Dim3, sharedBytes: number];

const REFUSED: readonly Refused[] = [
  ["a block of no threads", [1, 1, 1], [0, 1, 1], 0],
  ["a block of no depth", [1, 1, 1], [1, 1, 0], 0],
  ["a grid of no blocks", [1, 0, 1], [32, 1, 1], 0],
  ["1025 threads in a block", [1, 1, 1], [1025, 1, 1], 0],
  ["32 x 33 threads in a block", [1, 1, 1], [32, 33, 1], 0],
  ["65 threads in z", [1, 1, 1], [1, 1, 65], 0],
  ["65536 blocks in y", [1, 65_536, 1], [1, 1, 1], 0],
  ["a fraction of a thread", [1, 1, 1], [1.5, 1, 1], 0],
  ["a negative grid", [-1, 1, 1], [1, 1, 1], 0],
  ["a mebibyte of shared memory", [1, 1, 1], [32, 1, 1], 2 ** 20],
  ["negative shared memory", [1, 1, 1], [32, 1, 1], -1],
];

const refusedCases = REFUSED.map(([what, grid, block, sharedBytes]): ConformanceCase => {
  return {
    name: `${what} is refused, and the stream goes on`,
    run: async (bench) => {
      const module = bench.load(SAMPLE_PTX, "sample.ptx");
      const kernel = expectOk(module.kernel("coordinates"));
      const buffer = bench.device(4096);
      const parameters = expectOk(packParameters(kernel, [{ buffer }]));
      const refused = bench.stream.launch({ kernel, grid, block, sharedBytes, parameters });
      assert.ok(!refused.ok);
      assert.ok(["invalid_value", "too_many_resources"].includes(refused.error.code));
      assert.match(refused.error.message, /coordinates/);
      await checkCoordinates(bench, [1, 1, 1], [32, 1, 1]);
    },
  };
});

/** Launches `coordinates` and checks what every thread saw of itself. */
async function checkCoordinates(bench: Bench, grid: Dim3, block: Dim3): Promise<void> {
  const module = bench.load(SAMPLE_PTX, "sample.ptx");
  const threads = [...grid, ...block].reduce((product, size) => product * size, 1);
  const buffer = bench.device(4 * threads);
  bench.launch(module, "coordinates", [{ buffer }], { grid, block });
  const seen = asU32(await bench.download(whole(buffer)));
  const expected = Uint32Array.from({ length: threads }, (_, linear) => {
    let [rest, packed] = [linear, 0];
    for (const [axis, size] of [...block, ...grid].entries()) {
      packed += (rest % size) * 16 ** axis;
      rest = Math.floor(rest / size);
    }
    return packed;
  });
  assert.deepEqual(seen, expected);
}

const SHAPES: readonly (readonly [grid: Dim3, block: Dim3])[] = [
  [
    [1, 1, 1],
    [1, 1, 1],
  ],
  [
    [3, 1, 1],
    [7, 1, 1],
  ],
  [
    [3, 2, 4],
    [5, 3, 2],
  ],
  [
    [1, 16, 1],
    [16, 8, 8],
  ],
];

async function checkTickets(bench: Bench): Promise<void> {
  const module = bench.load(SAMPLE_PTX, "sample.ptx");
  const [blocks, threads] = [100, 96];
  const total = blocks * threads;
  const [counter, taken] = [bench.device(4), bench.device(4 * total)];
  bench.stream.fill(whole(counter), 0);
  bench.stream.fill(whole(taken), 0);
  bench.launch(module, "take_tickets", [{ buffer: counter }, { buffer: taken }], {
    grid: [blocks, 1, 1],
    block: [threads, 1, 1],
  });
  assert.deepEqual(asU32(await bench.download(whole(counter))), Uint32Array.of(total));
  assert.ok(asU32(await bench.download(whole(taken))).every((count) => count === 1));
}

export const LAUNCH_CASES: readonly ConformanceCase[] = [
  conformanceCase(
    "every thread of a grid and block in three dimensions runs once",
    async (bench) => {
      for (const [grid, block] of SHAPES) await checkCoordinates(bench, grid, block);
    },
  ),
  conformanceCase(
    "eleven parameters of every size, a struct among them, arrive to the byte",
    async (bench) => {
      const module = bench.load(SAMPLE_PTX, "sample.ptx");
      const buffer = bench.device(GATHER_BYTES);
      bench.stream.fill(whole(buffer), 0);
      bench.launch(module, "gather", [{ buffer }, ...GATHER_ARGUMENTS], {
        grid: [1, 1, 1],
        block: [1, 1, 1],
      });
      assert.deepEqual(await bench.download(whole(buffer)), gathered());
    },
  ),
  conformanceCase(
    "a launch keeps its parameters, whatever becomes of the block they came in",
    async (bench) => {
      const kernel = expectOk(bench.load(SAMPLE_PTX, "sample.ptx").kernel("gather"));
      const [first, second] = [bench.device(GATHER_BYTES), bench.device(GATHER_BYTES)];
      bench.stream.fill(whole(first), 0);
      const [grid, block] = [[1, 1, 1] as const, [1, 1, 1] as const];
      const parameters = expectOk(packParameters(kernel, [{ buffer: first }, ...GATHER_ARGUMENTS]));
      expectOk(bench.stream.launch({ kernel, grid, block, sharedBytes: 0, parameters }));
      parameters.fill(0);
      new DataView(parameters.buffer).setBigUint64(0, second.address, true);
      expectOk(bench.stream.launch({ kernel, grid, block, sharedBytes: 0, parameters }));
      assert.deepEqual(await bench.download(whole(first)), gathered());
    },
  ),
  conformanceCase(
    "threads of a block meet at a barrier and see each other's shared memory",
    async (bench) => {
      const module = bench.load(SAMPLE_PTX, "sample.ptx");
      const words = Uint32Array.from({ length: 64 }, (_, index) => index * 3 + 1);
      const [input, out] = [await bench.upload(words), bench.device(words.byteLength)];
      const shape = { grid: [1, 1, 1], block: [64, 1, 1] } as const;
      bench.launch(module, "reverse_block", [{ buffer: out }, { buffer: input }], shape);
      assert.deepEqual(asU32(await bench.download(whole(out))), words.slice().reverse());
    },
  ),
  conformanceCase(
    "dynamic shared memory is as large as the launch says, up to the device's limit",
    async (bench) => {
      const module = bench.load(SAMPLE_PTX, "sample.ptx");
      const words = Uint32Array.from({ length: 1024 }, (_, index) => index * 7 + 1);
      const [input, out] = [await bench.upload(words), bench.device(words.byteLength)];
      for (const sharedBytes of [4096, bench.context.device.sharedBytesPerBlockMax]) {
        bench.stream.fill(whole(out), 0);
        const shape = { grid: [1, 1, 1], block: [1024, 1, 1], sharedBytes } as const;
        bench.launch(module, "rotate_block", [{ buffer: out }, { buffer: input }], shape);
        const expected = words.map((_, index) => words[(index + 1) % 1024] ?? 0);
        assert.deepEqual(asU32(await bench.download(whole(out))), expected);
      }
    },
  ),
  conformanceCase("atomic additions from many blocks lose nothing", checkTickets),
  ...refusedCases,
];

/** What `gather` writes: each argument's bytes at the next multiple of eight. */
function gathered(): Uint8Array {
  const bytes = new Uint8Array(GATHER_BYTES);
  let slot = 0;
  for (const argument of GATHER_ARGUMENTS) {
    const size =
      "bytes" in argument ? argument.bytes.length : "type" in argument ? sizeOf(argument.type) : 8;
    const type = "bytes" in argument ? "b8" : "type" in argument ? argument.type : "u64";
    const kernel = {
      name: "one",
      parameters: [{ type, offset: 0, bytes: size }],
      parameterBytes: size,
    };
    bytes.set(expectOk(packParameters(kernel, [argument])), slot);
    slot += Math.ceil(size / 8) * 8;
  }
  return bytes;
}

const sizeOf = (type: string): number => Number(type.slice(1)) / 8;
