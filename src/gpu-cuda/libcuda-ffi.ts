/** libcuda.so.1 itself: where it is looked for, and its functions, typed. */
import {
  err,
  loadLibrary,
  ok,
  type NativeError,
  type NativeFunction,
  type NativeFunctions,
  type Result,
} from "../base/mod.ts";
import { OPTIONAL_SYMBOLS, REQUIRED_SYMBOLS } from "./abi.ts";

/** The driver's functions. Each returns a CUresult, and none checks anything. */
export type Libcuda = NativeFunctions<typeof REQUIRED_SYMBOLS> & {
  /** Null on drivers before CUDA 12.4. */
  readonly cuFuncGetParamInfo: NativeFunction<
    (typeof OPTIONAL_SYMBOLS)["cuFuncGetParamInfo"]
  > | null;
  /** What was loaded. */
  readonly libraryPath: string;
};

/**
 * The loader's own search first, then where drivers are put without telling it: Debian, Red Hat,
 * WSL, containers, Arm, NixOS. Never plain `libcuda.so`: that may be the toolkit's stub.
 */
export const LIBCUDA_PATHS: readonly string[] = [
  "libcuda.so.1",
  "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
  "/usr/lib64/libcuda.so.1",
  "/usr/lib/wsl/lib/libcuda.so.1",
  "/usr/local/nvidia/lib64/libcuda.so.1",
  "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
  "/run/opengl-driver/lib/libcuda.so.1",
];

/**
 * Loads the driver's library, from `libraryPath` alone where one is given. Fails when no file can
 * be loaded, or when the one found lacks a symbol that every driver since R470 has.
 */
export function openLibcuda(libraryPath?: string): Result<Libcuda, NativeError> {
  const paths = libraryPath === undefined ? LIBCUDA_PATHS : [libraryPath];
  const errors: NativeError[] = [];
  for (const path of paths) {
    const library = loadLibrary(path);
    if (!library.ok) {
      errors.push(library.error);
      continue;
    }
    const required = library.value.bind(REQUIRED_SYMBOLS);
    if (!required.ok) return required;
    const optional = library.value.bind(OPTIONAL_SYMBOLS);
    const cuFuncGetParamInfo = optional.ok ? optional.value.cuFuncGetParamInfo : null;
    return ok({ ...required.value, cuFuncGetParamInfo, libraryPath: path });
  }
  return err(mostTelling(errors));
}

/** A library that is there but cannot be loaded says more than six that are not there. */
function mostTelling(errors: readonly NativeError[]): NativeError {
  const telling = errors.find(({ message }) => !message.includes("No such file"));
  const [first = { code: "library_not_found", message: "no path was given" }] = errors;
  return telling ?? first;
}
