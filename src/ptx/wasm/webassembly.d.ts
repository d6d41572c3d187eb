// The part of the WebAssembly JavaScript API that Holdfast uses. TypeScript ships these types only
// with the DOM library, which a Node program must not see, and @types/node 20 has none.
declare namespace WebAssembly {
  type MemoryDescriptor = {
    readonly initial: number;
    readonly maximum?: number;
    readonly shared?: boolean;
  };

  /** Pages are of 64 KiB. Can be posted to a worker when it is shared. */
  class Memory {
    constructor(descriptor: MemoryDescriptor);
    readonly buffer: ArrayBuffer | SharedArrayBuffer;
    grow(pages: number): number;
  }

  /** Compiled, not yet linked; can be posted to a worker. */
  class Module {
    constructor(bytes: Uint8Array);
    private readonly brand;
  }

  type ImportValue = Memory | ((...values: never[]) => unknown) | number | bigint;
  type Imports = Readonly<Record<string, Readonly<Record<string, ImportValue>>>>;

  class Instance {
    constructor(module: Module, imports?: Imports);
    readonly exports: Readonly<Record<string, unknown>>;
  }

  /** A trap: `unreachable`, an access past the end of the memory, a division by zero. */
  class RuntimeError extends Error {}
  class CompileError extends Error {}

  function validate(bytes: Uint8Array): boolean;
}
