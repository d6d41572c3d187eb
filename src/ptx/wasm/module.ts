/**
 * A WebAssembly module under construction. Function indexes count imports first, so every import is
 * made before the first function is reserved; a function's index is known before its body is.
 */
import { invariant } from "../../base/mod.ts";
import { ByteBuffer } from "./byte-buffer.ts";
import { codeSection } from "./code-section.ts";
import type { Code } from "./code.ts";
import { ExportSection } from "./export-section.ts";
import { functionSection } from "./function-section.ts";
import { GlobalSection } from "./global-section.ts";
import { ImportSection } from "./import-section.ts";
import { TypeSection } from "./type-section.ts";
import type { FunctionType } from "./value-type.ts";

/** `\0asm`, version 1. */
const HEADER = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

type DefinedFunction = { readonly typeIndex: number; body: Code | null };

export class ModuleBuilder {
  readonly imports = new ImportSection();
  readonly globals = new GlobalSection();
  readonly exports = new ExportSection();
  readonly #types = new TypeSection();
  readonly #functions: DefinedFunction[] = [];
  #importedFunctions = 0;

  /** Imports a function and returns its index. */
  importFunction(module: string, name: string, type: FunctionType): number {
    invariant(this.#functions.length === 0, "imports come before functions");
    this.imports.function(module, name, this.#types.index(type));
    this.#importedFunctions += 1;
    return this.#importedFunctions - 1;
  }

  /** Takes the next function index; `define` gives it a body later. */
  reserve(type: FunctionType): number {
    this.#functions.push({ typeIndex: this.#types.index(type), body: null });
    return this.#importedFunctions + this.#functions.length - 1;
  }

  define(functionIndex: number, body: Code): void {
    const reserved = this.#functions[functionIndex - this.#importedFunctions];
    invariant(reserved?.body === null, `function ${functionIndex} is reserved and not yet defined`);
    reserved.body = body;
  }

  encode(): Uint8Array {
    const bodies = this.#functions.map(({ body }, index) => {
      invariant(body !== null, `function ${this.#importedFunctions + index} has a body`);
      return body;
    });
    return new ByteBuffer()
      .append(HEADER)
      .appendBuffer(this.#types.encode())
      .appendBuffer(this.imports.encode())
      .appendBuffer(functionSection(this.#functions.map(({ typeIndex }) => typeIndex)))
      .appendBuffer(this.globals.encode())
      .appendBuffer(this.exports.encode())
      .appendBuffer(codeSection(bodies))
      .toBytes();
  }
}
