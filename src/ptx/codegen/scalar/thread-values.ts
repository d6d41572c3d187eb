/** What the thread loop keeps about the thread that runs now. */
import type { Code } from "../../wasm/code.ts";
import type { BlockValues } from "./block-values.ts";

export type ThreadValueName = "tid.x" | "tid.y" | "tid.z" | "context4" | "context8" | "local";

/**
 * The current thread's values as locals; only those asked for are computed. `context4` and
 * `context8` are the addresses from which context slots of 4 and 8 bytes are counted.
 */
export class ThreadValues {
  /** The thread's linear index in its block. */
  readonly index: number;
  readonly #code: Code;
  readonly #block: BlockValues;
  readonly #localBytes: number;
  readonly #locals = new Map<ThreadValueName, number>();

  constructor(code: Code, block: BlockValues, localBytes: number) {
    this.#code = code;
    this.#block = block;
    this.#localBytes = localBytes;
    this.index = code.local("i32");
  }

  local(name: ThreadValueName): number {
    const known = this.#locals.get(name);
    if (known !== undefined) return known;
    const local = this.#code.local("i32");
    this.#locals.set(name, local);
    this.#needed(name);
    return local;
  }

  /** Asks for what computing a value takes, before any of it is written. */
  #needed(name: ThreadValueName): void {
    switch (name) {
      case "tid.x":
        this.#block.local("ntid.x");
        return;
      case "tid.y":
      case "tid.z":
        this.local("tid.x");
        this.#block.local("ntid.y");
        return;
      case "context4":
      case "context8":
        this.#block.local("scratch");
        return;
      case "local":
        this.#block.local("local");
        return;
    }
  }

  /** Computes the coordinates of the first thread, whose index is set. */
  writeFirst(code: Code): void {
    const { index } = this;
    const width = (): number => this.#block.local("ntid.x");
    const height = (): number => this.#block.local("ntid.y");
    if (!this.#locals.has("tid.x")) return;
    code.get(index).get(width()).op("i32.rem_u").set(this.local("tid.x"));
    if (!this.#countsRows()) return;
    const row = code.local("i32");
    code.get(index).get(width()).op("i32.div_u").set(row);
    code.get(row).get(height()).op("i32.rem_u").set(this.local("tid.y"));
    code.get(row).get(height()).op("i32.div_u").set(this.local("tid.z"));
  }

  #countsRows(): boolean {
    return this.#locals.has("tid.y") || this.#locals.has("tid.z");
  }

  /** Computes what follows from the index, at the start of each thread. */
  writeEach(code: Code): void {
    const scaled = (name: "context4" | "context8", log2: number): void => {
      if (!this.#locals.has(name)) return;
      code.get(this.#block.local("scratch")).get(this.index).i32(log2).ops("i32.shl", "i32.add");
      code.set(this.local(name));
    };
    scaled("context4", 2);
    scaled("context8", 3);
    if (this.#locals.has("local")) {
      code.get(this.#block.local("local")).get(this.index).i32(this.#localBytes);
      code.ops("i32.mul", "i32.add").set(this.local("local"));
    }
  }

  /** Steps to the next thread: x runs fastest. */
  writeNext(code: Code): void {
    const increment = (local: number): Code => code.get(local).i32(1).op("i32.add").tee(local);
    increment(this.index).op("drop");
    if (!this.#locals.has("tid.x")) return;
    const [x, width] = [this.local("tid.x"), this.#block.local("ntid.x")];
    increment(x).get(width).op("i32.eq").if();
    code.i32(0).set(x);
    if (this.#countsRows()) {
      const [y, z] = [this.local("tid.y"), this.local("tid.z")];
      increment(y).get(this.#block.local("ntid.y")).op("i32.eq").if();
      code.i32(0).set(y);
      increment(z).op("drop").end();
    }
    code.end();
  }
}
