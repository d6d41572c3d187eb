/** What the rules of admission of all operations, and of both protocols, have in common. */
import type { Result } from "../base/mod.ts";
import type { CatalogueKernel, CheckExtent, Job, ModuleReference } from "../owner/mod.ts";
import type { Cubb2Job } from "../records/mod.ts";
import type { Refusal } from "./ending.ts";
import { placementOf } from "./file-placement.ts";
import type { MailboxV2, VerifyMode } from "./mailbox.ts";
import type { ModuleDirectory } from "./module-directory.ts";

/** Elements of an array: 1 GiB of 4-byte elements, as much as one view of memory shows. */
const ELEMENTS_MAX = 2 ** 28;

/** Elements up to which `auto` compares every one: a few milliseconds of the CPU. */
const FULL_CHECK_ELEMENTS_MAX = 2 ** 20;

/** Of every element of the fixed operations: u32 or f32. */
export const ELEMENT_BYTES = 4;

export type AdmissionOptionsV2 = {
  readonly mailbox: MailboxV2;
  /** Where ops 1 to 4 are. */
  readonly baseModule: ModuleReference;
  /** Null: there is nothing that op 256 may launch. */
  readonly modules: ModuleDirectory | null;
};

/** The job that is made of a record, or why it is not run. */
export type Admission = Result<Job, Refusal>;

/** Names the rule's status and says, in one line, what is wrong and what would be right. */
export const refuse = (status: Refusal["status"], reason: string): Refusal => ({ status, reason });

/** What is wrong with the number of elements. */
export function findCountFault(n: bigint): Refusal | null {
  if (n === 0n) return refuse("bad_size", "n is 0: a job has elements");
  if (n <= BigInt(ELEMENTS_MAX)) return null;
  return refuse("too_large", `n is ${String(n)}; at most ${ELEMENTS_MAX} elements`);
}

/** How much of a job is compared where its record says nothing of it. */
export function extentFor(verify: VerifyMode, elements: number): CheckExtent {
  if (verify !== "auto") return verify;
  return elements <= FULL_CHECK_ELEMENTS_MAX ? "full" : "sample";
}

/** The element type of the catalogue's outputs, which are always argument 0. */
export const outputType = (kernel: CatalogueKernel): "u32" | "f32" =>
  kernel.parameters[0]?.type === "u32" ? "u32" : "f32";

/** The two files, of the sizes that the record states. Throws FileError. */
export function payloadOf(
  { inBytes, outBytes }: Cubb2Job,
  mailbox: MailboxV2,
): NonNullable<Job["payload"]> {
  const { in: inputPath, out: path } = mailbox;
  const output =
    outBytes === 0n ? null : { path, bytes: Number(outBytes), placement: placementOf(path) };
  const input = inBytes === 0n ? null : { path: inputPath, bytes: Number(inBytes) };
  return { input, output };
}

/** The longest that the kernel may run: the record's word, within the mailbox's limits. */
export const timeoutOf = (
  { timeoutMs }: Pick<Cubb2Job, "timeoutMs">,
  mailbox: Pick<MailboxV2, "timeoutMs" | "timeoutMaxMs">,
): number => (timeoutMs === 0 ? mailbox.timeoutMs : Math.min(timeoutMs, mailbox.timeoutMaxMs));
