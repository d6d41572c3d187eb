import type { Result } from "../../base/mod.ts";
import type { FunctionNode, ModuleNode, VariableNode } from "../syntax/ast.ts";
import { Refusal, type Diagnostic } from "../syntax/diagnostic.ts";
import { catchRefusal, parsePtx } from "../syntax/parser.ts";
import { lowerData } from "./data.ts";
import { layoutParameters } from "./layout.ts";
import { lowerKernel, refuseDeclaration } from "./lower-kernel.ts";
import { Scope, type Meaning } from "./scope.ts";
import type { Kernel, KernelEntry, Parameter, PtxModule } from "./types.ts";

/** What a module declares, by kind. */
type Items = {
  readonly data: VariableNode[];
  readonly shared: VariableNode[];
  /** Known by name, and refused where they are used. */
  readonly unusable: { readonly name: string; readonly what: string }[];
  readonly entries: FunctionNode[];
};

const OPAQUE_TYPES = new Set(["texref", "samplerref", "surfref"]);

function sortVariable(items: Items, node: VariableNode): void {
  const { name, space, linkage } = node;
  if (space === "shared" || space === "shared::cta") items.shared.push(node);
  else if (OPAQUE_TYPES.has(node.type) || space === "tex") {
    items.unusable.push({ name, what: `a .${node.type} variable` });
  } else if (space !== "global" && space !== "const") {
    items.unusable.push({ name, what: `a .${space} variable outside of a function` });
  } else if (linkage === "extern") {
    items.unusable.push({ name, what: "defined in another module" });
  } else items.data.push(node);
}

function sortItems(module: ModuleNode): Items {
  const items: Items = { data: [], shared: [], unusable: [], entries: [] };
  for (const item of module.items) {
    if (item.kind === "variable") sortVariable(items, item);
    else if (item.kind === "function" && item.isEntry) items.entries.push(item);
    else if (item.kind === "function") items.unusable.push({ name: item.name, what: "a function" });
  }
  return items;
}

type Layout = { readonly parameters: readonly Parameter[]; readonly parameterBytes: number };

type EntryContext = { readonly items: Items; readonly scope: Scope; readonly fileName: string };

function makeEntry(node: FunctionNode, text: string, context: EntryContext): KernelEntry {
  const layout: Layout = layoutParameters(node.parameters);
  const { items, scope, fileName } = context;
  const lower = (): Kernel => {
    const { body } = node;
    if (body === null) throw refuseDeclaration(node.name, node.position);
    return lowerKernel({ node, body, ...layout, scope, shared: items.shared }, text);
  };
  let lowered: Result<Kernel, Diagnostic> | null = null;
  return {
    name: node.name,
    ...layout,
    lower: () => (lowered ??= catchRefusal(fileName, lower)),
  };
}

/** Entries with a body win over their own declarations; two bodies are an error. */
function chooseEntries(nodes: readonly FunctionNode[]): FunctionNode[] {
  const chosen = new Map<string, FunctionNode>();
  for (const node of nodes) {
    const known = chosen.get(node.name);
    if (known?.body !== undefined && known.body !== null && node.body !== null) {
      throw new Refusal("invalid_ptx", node.position, `the kernel '${node.name}' is defined twice`);
    }
    if (known === undefined || node.body !== null) chosen.set(node.name, node);
  }
  return [...chosen.values()];
}

function lowerNode(module: ModuleNode, fileName: string): PtxModule {
  const items = sortItems(module);
  const data = lowerData(items.data);
  const scope = new Scope(null);
  for (const [index, symbol] of data.symbols.entries()) {
    const position = items.data[index]?.position ?? { line: 1, column: 1 };
    scope.declare(symbol.name, { kind: "symbol", symbol }, position);
  }
  for (const { name, what } of items.unusable) {
    const meaning: Meaning = { kind: "unusable", what };
    if (scope.find(name) === null) scope.declare(name, meaning, { line: 1, column: 1 });
  }
  const context = { items, scope, fileName };
  return {
    fileName,
    version: module.version,
    target: module.targets[0] ?? "",
    data,
    entries: chooseEntries(items.entries).map((node) => makeEntry(node, module.text, context)),
  };
}

/** Lowers a parsed module. Its kernels are lowered one by one, when they are asked for. */
export function lowerModule(module: ModuleNode, fileName: string): Result<PtxModule, Diagnostic> {
  return catchRefusal(fileName, () => lowerNode(module, fileName));
}

/** Parses and lowers PTX text: the whole front end. */
export function compileFront(text: string, fileName: string): Result<PtxModule, Diagnostic> {
  const parsed = parsePtx(text, fileName);
  return parsed.ok ? lowerModule(parsed.value, fileName) : parsed;
}

/** The name and the parameters of a kernel. */
export type KernelSignature = Pick<KernelEntry, "name" | "parameters" | "parameterBytes">;

/**
 * The kernels that PTX text defines, and where each parameter lies in the parameter block. Only
 * parses, so it also reads text that neither engine could run.
 */
export function readSignatures(
  text: string,
  fileName: string,
): Result<readonly KernelSignature[], Diagnostic> {
  const parsed = parsePtx(text, fileName);
  if (!parsed.ok) return parsed;
  return catchRefusal(fileName, () =>
    chooseEntries(sortItems(parsed.value).entries).map((node) => ({
      name: node.name,
      ...layoutParameters(node.parameters),
    })),
  );
}
