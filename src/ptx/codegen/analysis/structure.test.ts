import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import type { BlockId, Kernel } from "../../ir/types.ts";
import { printGraph, printStructure } from "../print.ts";
import { analyse } from "./analyse.ts";
import { blockAt } from "./regions.ts";
import { regionSuccessorsOf } from "./successors.ts";
import type { Structure, StructureNode } from "./structure.ts";
import { controlFlow } from "./testing.ts";

const structuresOf = (...terminators: string[]): string[] =>
  analyse(controlFlow(...terminators)).analysed.map(({ structure }) => printStructure(structure));

const graphOf = (...terminators: string[]): string => {
  const [first] = analyse(controlFlow(...terminators)).analysed;
  return first === undefined ? "" : printGraph(first.graph);
};

suite("flowGraph", () => {
  const cases: [string, string[], string][] = [
    [
      "a diamond merges where its sides meet",
      ["branch 1 2", "jump 3", "jump 3", "exit"],
      "entry 0, reducible, tree 0>2 0>1 0>3, loops , merges 3",
    ],
    [
      "a loop has its header",
      ["jump 1", "branch 1 2", "exit"],
      "entry 0, reducible, tree 0>1 1>2, loops 1, merges ",
    ],
    [
      "a loop with two entries is irreducible",
      ["branch 1 2", "jump 2", "branch 1 3", "exit"],
      "entry 0, irreducible, tree 0>1 0>2 2>3, loops 1, merges 2",
    ],
  ];
  for (const [name, terminators, expected] of cases) {
    test(name, () => {
      const found = graphOf(...terminators);
      const sorted = (text: string): string =>
        text.replace(
          /tree ([^,]*)/,
          (_, edges: string) => `tree ${edges.split(" ").sort().join(" ")}`,
        );
      assert.equal(sorted(found), sorted(expected));
    });
  }
});

suite("structure", () => {
  const cases: [string, string[], string[]][] = [
    ["a straight line", ["jump 1", "exit"], ["0 1 leave 1"]],
    [
      "a diamond",
      ["branch 1 2", "jump 3", "jump 3", "exit"],
      ["forward 3 { 0 if { 1 v3 } else { 2 v3 } } 3 leave 3"],
    ],
    [
      "a loop that is left at its end",
      ["jump 1", "branch 1 2", "exit"],
      ["0 loop 1 { 1 if { ^1 } else { 2 leave 2 } }"],
    ],
    [
      "a barrier in a loop: the loop is spread over two regions",
      ["jump 1", "barrier 2", "branch 1 3", "exit"],
      ["0 1 leave 1", "2 if { 1 leave 1 } else { 3 leave 3 }"],
    ],
    [
      "an irreducible region: a table of its blocks",
      ["branch 1 2", "jump 2", "branch 1 3", "exit"],
      [
        "dispatch { 0 if { choose 1 } else { choose 2 } | 1 choose 2 | " +
          "2 if { choose 1 } else { choose 3 } | 3 leave 3 }",
      ],
    ],
    [
      "a resume point inside block 0 is a region of its own",
      ["branch 1 2", "barrier 0", "exit"],
      ["0 if { 1 leave 1 } else { 2 leave 2 }", "0 if { 1 leave 1 } else { 2 leave 2 }"],
    ],
  ];
  for (const [name, terminators, expected] of cases) {
    test(name, () => {
      assert.deepEqual(structuresOf(...terminators), expected);
    });
  }

  test("a chain of merges deeper than the limit goes through the dispatch", () => {
    const depth = 500;
    const chain = Array.from({ length: depth }, (_, id) => `branch ${id + 1} ${depth}`);
    assert.match(structuresOf(...chain, "exit")[0] ?? "", /^dispatch/);
    assert.match(structuresOf("branch 1 2", "jump 2", "exit")[0] ?? "", /^forward/);
  });
});

/** Follows a structure as wasm would, with the branches taken that `choices` says, by block. */
function walk(structure: Structure, choices: readonly boolean[]): BlockId[] {
  const trace: BlockId[] = [];
  let step = 0;
  let chosen = 0;
  const spent = (): boolean => trace.length > choices.length;

  /** What stops a sequence early: a jump to a label, or the end of the region. */
  type Stop = { readonly target: BlockId; readonly isBackward: boolean } | "left" | null;

  const sequence = (nodes: Structure): Stop => {
    for (const node of nodes) {
      const stop = follow(node);
      if (stop !== null) return stop;
    }
    return null;
  };

  const follow = (node: StructureNode): Stop => {
    switch (node.kind) {
      case "code":
        trace.push(node.block);
        return spent() ? "left" : null;
      case "branch": {
        const taken = choices[step] ?? false;
        step += 1;
        return sequence(taken ? node.onTrue : node.onFalse);
      }
      case "leave":
        return "left";
      case "jump":
        return { target: node.target, isBackward: node.isBackward };
      case "forward": {
        const stop = sequence(node.body);
        const isHere = stop !== null && stop !== "left" && stop.target === node.target;
        return isHere && !stop.isBackward ? null : stop;
      }
      case "loop":
        for (;;) {
          const stop = sequence(node.body);
          const isHere = stop !== null && stop !== "left" && stop.target === node.target;
          if (!isHere || !stop.isBackward) return stop;
        }
      case "dispatch":
        for (chosen = 0; ;) {
          const stop = sequence(node.arms[chosen] ?? []);
          if (stop !== null) return stop;
        }
      case "choose":
        chosen = node.arm;
        return null;
    }
  };
  sequence(structure);
  return trace;
}

/** Follows the control-flow graph itself. */
function walkGraph(kernel: Kernel, entry: BlockId, choices: readonly boolean[]): BlockId[] {
  const trace: BlockId[] = [];
  let step = 0;
  for (let id: BlockId | undefined = entry; id !== undefined;) {
    trace.push(id);
    if (trace.length > choices.length) break;
    const { terminator } = blockAt(kernel, id);
    const successors: readonly BlockId[] = regionSuccessorsOf(terminator);
    if (terminator.kind === "branch") {
      id = successors[(choices[step] ?? false) ? 0 : 1];
      step += 1;
    } else id = successors[0];
  }
  return trace;
}

suite("structure of random control flow", () => {
  const blockCount = 9;
  const target = fc.integer({ min: 0, max: blockCount - 1 });
  const terminator = fc.oneof(
    target.map((to) => `jump ${to}`),
    fc.tuple(target, target).map(([yes, no]) => `branch ${yes} ${no}`),
    fc.tuple(target, target).map(([yes, no]) => `branch ${yes} ${no}`),
    target.map((to) => `barrier ${to}`),
    fc.constant("exit"),
  );
  test("visits the blocks that the graph visits, whichever way branches go", () => {
    const kernels = fc.array(terminator, { minLength: blockCount, maxLength: blockCount });
    const choices = fc.array(fc.boolean(), { minLength: 30, maxLength: 30 });
    fc.assert(
      fc.property(kernels, choices, (terminators, taken) => {
        const kernel = controlFlow(...terminators);
        for (const { region, structure } of analyse(kernel).analysed) {
          const expected = walkGraph(kernel, region.entry, taken);
          assert.deepEqual(walk(structure, taken), expected, printStructure(structure));
        }
      }),
      { numRuns: 500 },
    );
  });
});
