// Every opcode, and the forms in which it can be run.
import type { InstructionNode } from "../../syntax/ast.ts";
import { Refusal } from "../../syntax/diagnostic.ts";
import { formatForm, matchForm, type Form, type Match } from "../form.ts";
import { ARITHMETIC } from "./arithmetic.ts";
import { CONTROL } from "./control.ts";
import { LOGIC } from "./logic.ts";
import { MEMORY } from "./memory.ts";
import { MOVES } from "./move.ts";

/** Opcodes of PTX that cannot be run in any form yet. */
const REFUSED_OPCODES = new Set(
  (
    "activemask addc alloca applypriority bfe bfi bfind bmsk brkpt brx call clusterlaunchcontrol " +
    "copysign cp createpolicy discard dp2a dp4a elect fns getctarank griddepcontrol isspacep " +
    "istypep ldmatrix lop3 mad24 madc mapa match mbarrier mma movmatrix mul24 multimem nanosleep " +
    "pmevent prmt redux sad set setmaxnreg shf shfl slct stackrestore stacksave " +
    "stmatrix subc suld suq sured sust szext tcgen05 tensormap testp tex tld4 txq vabsdiff " +
    "vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 " +
    "vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma"
  ).split(" "),
);

function group(forms: readonly Form[]): ReadonlyMap<string, readonly Form[]> {
  const groups = new Map<string, Form[]>();
  for (const form of forms) {
    const known = groups.get(form.opcode);
    if (known === undefined) groups.set(form.opcode, [form]);
    else known.push(form);
  }
  return groups;
}

/** Opcode to its forms, those that are refused included. */
export const OPCODES = group([...ARITHMETIC, ...LOGIC, ...MOVES, ...MEMORY, ...CONTROL]);

const CALL_ARGUMENTS = "it passes an argument of a call, and calls are not supported";

/** Why an instruction of PTX is refused, when more is known than that it is not in the table. */
function describeRefusal({ opcode, modifiers }: InstructionNode): string {
  const isArgument = opcode === "st" && modifiers.some((word) => word.startsWith("param"));
  return isArgument ? CALL_ARGUMENTS : describeForms(opcode);
}

/** "supported forms of 'shfl': none", from the table itself. */
export function describeForms(opcode: string): string {
  const forms = (OPCODES.get(opcode) ?? []).filter(({ build }) => build !== null);
  const texts = forms.map(formatForm);
  return `supported forms of '${opcode}': ${texts.length === 0 ? "none" : texts.join(", ")}`;
}

/**
 * The form of an instruction. Refuses what PTX does not have as invalid, and what only the engines
 * lack as unsupported; `text` is the instruction as written.
 */
export function findForm(node: InstructionNode, text: string): Match {
  const { opcode, modifiers, position } = node;
  const forms = OPCODES.get(opcode);
  const isKnown = forms !== undefined || REFUSED_OPCODES.has(opcode);
  if (!isKnown) {
    throw new Refusal("invalid_ptx", position, `'${text}': PTX has no instruction '${opcode}'`);
  }
  for (const candidate of forms ?? []) {
    const match = matchForm(candidate, modifiers);
    if (match === null) continue;
    if (match.form.build !== null) return match;
    const message = `'${text}' cannot be run here; ${describeRefusal(node)}`;
    throw new Refusal("unsupported_instruction", position, message);
  }
  if (forms === undefined) {
    const message = `'${text}' cannot be run here; ${describeForms(opcode)}`;
    throw new Refusal("unsupported_instruction", position, message);
  }
  const name = [opcode, ...modifiers].join(".");
  const message = `'${text}': PTX has no form '${name}'; ${describeForms(opcode)}`;
  throw new Refusal("invalid_ptx", position, message);
}
