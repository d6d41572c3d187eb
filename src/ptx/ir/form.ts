// The shape of an opcode table. A form says which modifiers may follow an opcode, in which order.
// It drives both matching and the "supported forms" of a message, so the two cannot disagree.
import type { InstructionReader } from "./reader.ts";

/** Makes IR of an instruction that has this form. */
export type Builder = (reader: InstructionReader) => void;

type Slot = {
  readonly name: string;
  readonly alternatives: readonly string[];
  readonly isOptional: boolean;
};

export type Form = {
  readonly opcode: string;
  readonly slots: readonly Slot[];
  /** Null: PTX has this form, and neither engine can run it. */
  readonly build: Builder | null;
};

/** What was written in each slot that was filled. */
export type Match = { readonly form: Form; readonly choices: ReadonlyMap<string, string> };

function parseSlot(text: string): Slot {
  const isOptional = text.endsWith("?");
  const body = isOptional ? text.slice(0, -1) : text;
  const at = body.indexOf("=");
  const name = at < 0 ? body : body.slice(0, at);
  const alternatives = body.slice(at + 1).split("|");
  return { name, alternatives, isOptional };
}

/**
 * A form from its pattern: the opcode, then the slots: `sat` is a word that must stand here,
 * `rounding=rn|rz` one of several, and a `?` behind says that it may be missing.
 */
export function form(pattern: string, build: Builder | null): Form {
  const [opcode = "", ...slots] = pattern.split(" ");
  return { opcode, slots: slots.map(parseSlot), build };
}

/** A form that PTX has and we do not. */
export const refused = (pattern: string): Form => form(pattern, null);

/** What fills each slot, or null where the modifiers are not of this form. */
export function matchForm(candidate: Form, modifiers: readonly string[]): Match | null {
  const choices = new Map<string, string>();
  let at = 0;
  for (const slot of candidate.slots) {
    const modifier = modifiers[at];
    if (modifier !== undefined && slot.alternatives.includes(modifier)) {
      choices.set(slot.name, modifier);
      at += 1;
    } else if (!slot.isOptional) return null;
  }
  return at === modifiers.length ? { form: candidate, choices } : null;
}

/** `add{.rn|.rz}{.ftz}.f32`, as the PTX document writes it. */
export function formatForm({ opcode, slots }: Form): string {
  const parts = slots.map(({ alternatives, isOptional }) => {
    const text = alternatives.map((alternative) => `.${alternative}`).join("|");
    if (isOptional) return `{${text}}`;
    return alternatives.length > 1 ? `(${text})` : text;
  });
  return opcode + parts.join("");
}
