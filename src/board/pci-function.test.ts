import assert from "node:assert/strict";
import { test } from "node:test";
import {
  gpuName,
  overrideOf,
  parseConfig,
  readConfig,
  readOverride,
  readPciFunction,
  scanNvidiaGpus,
  scanPci,
} from "./pci-function.ts";
import { parseResource } from "./pci-resource.ts";
import { addFunction, createSysTree, GK210_RESOURCE, type SysTree } from "./testing.ts";
import { parsePciAddress } from "./pci-address.ts";

function withTree(body: (tree: SysTree) => void): void {
  const tree = createSysTree();
  try {
    body(tree);
  } finally {
    tree.end();
  }
}

const GIB = 2n ** 30n;

test("a scan finds NVIDIA's GPUs in the order of the bus, and nothing else", () => {
  withTree((tree) => {
    addFunction(tree, "0000:0a:00.0", { driver: "nvidia" });
    addFunction(tree, "0000:05:00.0", { override: "vfio-pci", driver: "vfio-pci" });
    addFunction(tree, "0000:05:00.1", { device: 0x0fb0, class: 0x040300 });
    addFunction(tree, "0000:00:02.0", { vendor: 0x8086, device: 0x1234, class: 0x030000 });
    addFunction(tree, "0000:06:00.0", { device: 0x2335 });
    const found = scanNvidiaGpus(tree.root);
    assert.deepEqual(
      found.map((each) => [each.name, gpuName(each), each.driver]),
      [
        ["0000:05:00.0", "GK210 (Tesla K80)", "vfio-pci"],
        ["0000:06:00.0", "10de:2335", null],
        ["0000:0a:00.0", "GK210 (Tesla K80)", "nvidia"],
      ],
    );
    assert.equal(scanPci(tree.root).length, 5);
  });
});

test("where there is no PCI at all a scan finds nothing", () => {
  withTree((tree) => assert.deepEqual(scanPci(tree.root), []));
});

test("a function that has gone is null, and one without BARs has none", () => {
  withTree((tree) => {
    const address = parsePciAddress("0000:05:00.0");
    assert.ok(address !== null);
    assert.equal(readPciFunction(tree.root, address), null);
    addFunction(tree, "0000:05:00.0", { resource: "" });
    assert.deepEqual(readPciFunction(tree.root, address)?.bars, []);
  });
});

const BAR1_LINES: readonly (readonly [
  what: string,
  line: string,
  bar: { address: bigint; bytes: bigint; isAssigned: boolean; isDisabled: boolean } | null,
])[] = [
  [
    "assigned, 64-bit, above 4 GiB",
    "0x0000003800000000 0x0000003bffffffff 0x000000000014220c",
    { address: 0x38_0000_0000n, bytes: 16n * GIB, isAssigned: true, isDisabled: false },
  ],
  [
    "no room: its size alone is known",
    "0x0000000000000000 0x00000003ffffffff 0x000000002014220c",
    { address: 0n, bytes: 16n * GIB, isAssigned: false, isDisabled: false },
  ],
  [
    "an address that does not count",
    "0x0000000000100000 0x00000000001fffff 0x0000000020142200",
    { address: 0n, bytes: 1n << 20n, isAssigned: false, isDisabled: false },
  ],
  [
    "disabled",
    "0x0000003800000000 0x0000003bffffffff 0x000000001014220c",
    { address: 0x38_0000_0000n, bytes: 16n * GIB, isAssigned: true, isDisabled: true },
  ],
  ["given up by the kernel", "0x0000000000000000 0x0000000000000000 0x0000000000000000", null],
  ["not a line of that file", "BAR 1: can't assign", null],
];

test("a BAR is as its line of resource says", () => {
  for (const [what, line, expected] of BAR1_LINES) {
    const bars = parseResource(`0x0 0x0 0x0\n${line}\n`);
    if (expected === null) assert.deepEqual(bars, [], what);
    else {
      const [bar] = bars;
      assert.ok(bar !== undefined && bars.length === 1, what);
      const { address, bytes, isAssigned, isDisabled } = bar;
      assert.deepEqual({ address, bytes, isAssigned, isDisabled }, expected, what);
      assert.equal(bar.index, 1);
      assert.ok(bar.is64Bit && bar.isPrefetchable && bar.kind === "memory", what);
    }
  }
});

test("only the six BARs are listed, not the ROM nor a bridge's windows", () => {
  const rom = "0x00000000f9000000 0x00000000f907ffff 0x0000000000046202";
  const lines = GK210_RESOURCE.split("\n");
  assert.deepEqual(
    parseResource([...lines.slice(0, 6), rom].join("\n")).map(({ index }) => index),
    [0, 1, 3],
  );
  const [io] = parseResource("0x000000000000e000 0x000000000000e07f 0x0000000000040101");
  assert.ok(io?.kind === "io" && !io.is64Bit && io.bytes === 128n);
});

test("an override is unset whether it reads (null), empty or a newline", () => {
  for (const text of ["(null)\n", "(null)", "\n", ""]) assert.equal(overrideOf(text), null);
  assert.equal(overrideOf("vfio-pci\n"), "vfio-pci");
  withTree((tree) => {
    addFunction(tree, "0000:05:00.0", { override: "vfio-pci" });
    addFunction(tree, "0000:06:00.0");
    assert.equal(readOverride(tree.root, "0000:05:00.0"), "vfio-pci");
    assert.equal(readOverride(tree.root, "0000:06:00.0"), null);
  });
});

test("a die that fell off the bus reads all ones, while sysfs goes on to show it", () => {
  withTree((tree) => {
    addFunction(tree, "0000:05:00.0", { isOffBus: true });
    addFunction(tree, "0000:06:00.0");
    assert.equal(readConfig(tree.root, "0000:05:00.0"), "off_bus");
    const config = readConfig(tree.root, "0000:06:00.0");
    assert.ok(config !== null && config !== "off_bus");
    assert.deepEqual([config.vendor, config.device, config.command], [0x10de, 0x102d, 6]);
    assert.equal(scanNvidiaGpus(tree.root).length, 2);
    assert.equal(readConfig(tree.root, "0000:07:00.0"), null);
    assert.equal(parseConfig(Buffer.alloc(4, 0xff)), null);
  });
});
