/**
 * The one way to native code: every library is loaded here, and typed functions are bound here.
 *
 * Before the FFI package loads a library it is pinned, with RTLD_NODELETE, for the life of the
 * process. koffi 3 closes a library when its handle is collected or its thread ends, and a
 * library that has made threads of its own (libcuda does) then loses its code under them:
 * SIGSEGV, at exit or in the middle of work, seen on Node 20, 22, 24 and 26.
 *
 * The package itself is loaded with the first library, not with this module: a command that touches
 * no native code must not pay for it at start-up.
 */
import { createRequire } from "node:module";
import type * as KoffiModule from "koffi";
import { err, ok, type Result } from "./result.ts";

/** What a native function takes and gives, by C's sizes. `handle` is a pointer-sized number. */
export type NativeType =
  | "void"
  | "int32"
  | "uint32"
  | "uint64"
  | "float"
  | "double"
  | "handle"
  /** Memory that the callee reads or writes: a view, a buffer, an address, or null. */
  | "pointer"
  /** A NUL-terminated string, copied. */
  | "string";

/** What JavaScript hands over for a `pointer`. The callee must not keep the address of a view. */
export type NativePointer = NodeJS.ArrayBufferView | ArrayBuffer | bigint | null;

type ValueOf = {
  readonly void: undefined;
  readonly int32: number;
  readonly uint32: number;
  readonly uint64: bigint;
  readonly float: number;
  readonly double: number;
  readonly handle: bigint;
  readonly pointer: NativePointer;
  readonly string: string | null;
};

/** One function of a library. */
export type NativeSignature = {
  readonly args: readonly NativeType[];
  readonly result: NativeType;
};

type Parameters<Args extends readonly NativeType[]> = {
  readonly [Index in keyof Args]: ValueOf[Args[Index]];
};

/** A signature's function, fully typed. */
export type NativeFunction<S extends NativeSignature> = (
  ...args: Parameters<S["args"]>
) => ValueOf[S["result"]];

/** The functions of a table of signatures, by name. */
export type NativeFunctions<Table extends Readonly<Record<string, NativeSignature>>> = {
  readonly [Name in keyof Table]: NativeFunction<Table[Name]>;
};

export type NativeErrorCode = "library_not_found" | "symbol_not_found";

/** Why a library or a symbol is not there; the message holds the loader's own words. */
export type NativeError = { readonly code: NativeErrorCode; readonly message: string };

/** A library that stays loaded for the life of the process. */
export type NativeLibrary = {
  readonly path: string;
  readonly has: (symbol: string) => boolean;
  /** Binds every function of the table, or names the first symbol that is missing. */
  readonly bind: <const Table extends Readonly<Record<string, NativeSignature>>>(
    table: Table,
  ) => Result<NativeFunctions<Table>, NativeError>;
};

type Koffi = typeof KoffiModule;
type Handle = ReturnType<Koffi["load"]>;

const require = createRequire(import.meta.url);
const koffiOf = (): Koffi => require("koffi") as Koffi;

const C_NAMES: Readonly<Record<NativeType, string>> = {
  void: "void",
  int32: "int32_t",
  uint32: "uint32_t",
  uint64: "uint64_t",
  float: "float",
  double: "double",
  handle: "uint64_t",
  pointer: "void *",
  string: "const char *",
};

/** dlfcn.h: RTLD_NOW | RTLD_NODELETE, the same numbers in glibc and musl. */
const PIN_FLAGS = 0x0002 | 0x1000;

/** Pins a library; null, or the loader's own words for why it cannot be loaded. */
function pin(koffi: Koffi, path: string): string | null {
  const self = koffi.load(null);
  const dlopen = self.func("dlopen", "void *", ["const char *", "int"]);
  const dlerror = self.func("dlerror", "const char *", []);
  if (dlopen(path, PIN_FLAGS) !== null) return null;
  return (dlerror() as string | null) ?? `${path}: cannot be loaded`;
}

/**
 * Loads `path` (a file, or a name for the system's loader to find) and keeps it loaded.
 *
 * @example
 * const library = loadLibrary("libm.so.6");
 * const math = library.ok ? library.value.bind({ cbrt: { args: ["double"], result: "double" } })
 * : library;
 */
export function loadLibrary(path: string): Result<NativeLibrary, NativeError> {
  const koffi = koffiOf();
  const reason = pin(koffi, path);
  if (reason !== null) return err({ code: "library_not_found", message: reason });
  const handle = koffi.load(path);
  return ok({
    path,
    has: (symbol) => hasSymbol(handle, symbol),
    bind: (table) => bindAll(handle, path, table),
  });
}

function hasSymbol(handle: Handle, symbol: string): boolean {
  try {
    handle.symbol(symbol);
    return true;
  } catch {
    return false;
  }
}

function bindAll<Table extends Readonly<Record<string, NativeSignature>>>(
  handle: Handle,
  path: string,
  table: Table,
): Result<NativeFunctions<Table>, NativeError> {
  const bound: Record<string, (...args: never[]) => unknown> = {};
  for (const [name, signature] of Object.entries(table)) {
    if (!hasSymbol(handle, name)) {
      const message = `${path} has no symbol ${name}; a newer version of the library may`;
      return err({ code: "symbol_not_found", message });
    }
    bound[name] = bindOne(handle, name, signature);
  }
  return ok(bound as NativeFunctions<Table>);
}

function bindOne(
  handle: Handle,
  name: string,
  { args, result }: NativeSignature,
): (...args: never[]) => unknown {
  const types = args.map((type) => C_NAMES[type]);
  const call = handle.func(name, C_NAMES[result], types) as (...args: never[]) => unknown;
  // A 64-bit result comes back as a number where it fits one, as a bigint where it does not.
  if (result !== "uint64" && result !== "handle") return call;
  return (...given) => BigInt(call(...given) as number | bigint);
}

/**
 * The address of a buffer's memory. It stays valid as long as the buffer is alive and is an
 * ArrayBuffer of its own or outside the JavaScript heap: a typed array of 64 bytes or less, made
 * without one, lies on the heap and moves.
 */
export function addressOf(memory: ArrayBuffer | NodeJS.ArrayBufferView): bigint {
  return koffiOf().address(memory);
}

/** errno, as the last native call of this thread left it; read it before anything else runs. */
export const lastErrno = (): number => koffiOf().errno();

/** Longest view on native memory: Node 20 aborts beyond 4 GiB, and 1 GiB is as much as we copy. */
export const NATIVE_VIEW_BYTES_MAX = 2 ** 30;

/**
 * Bytes of native memory, seen in place. They must stay allocated for as long as the view is used:
 * touching them afterwards ends the process.
 */
export function viewOf(address: bigint, bytes: number): Uint8Array {
  if (!(bytes >= 0 && bytes <= NATIVE_VIEW_BYTES_MAX)) {
    throw new RangeError(`a view holds 0 to ${NATIVE_VIEW_BYTES_MAX} bytes, not ${bytes}`);
  }
  return new Uint8Array(koffiOf().view(address, bytes));
}
