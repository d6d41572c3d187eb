export { besideName, removeQuietly, resolveTarget, takeAfter } from "./beside-file.ts";
export { systemClock, type Clock, type EventClock } from "./clock.ts";
export { errnoError, FileError, fileCall, toFileError } from "./file-error.ts";
export { makeFolder } from "./folder.ts";
export { invariant, InvariantError, unreachable } from "./invariant.ts";
export { createLineSink, type LineSink, type LineSinkOptions } from "./line-sink.ts";
export { createMortalClock, type MortalClock } from "./mortal-clock.ts";
export { createMutex, type Mutex } from "./mutex.ts";
export { stampedLog, stampLine, type Log } from "./log.ts";
export { fillHoles, mapFile, type FileView, type NamedFile } from "./mapped-file-ffi.ts";
export {
  addressOf,
  lastErrno,
  loadLibrary,
  NATIVE_VIEW_BYTES_MAX,
  viewOf,
  type NativeError,
  type NativeErrorCode,
  type NativeFunction,
  type NativeFunctions,
  type NativeLibrary,
  type NativePointer,
  type NativeSignature,
  type NativeType,
} from "./native-ffi.ts";
export { openOutputDescriptor } from "./output-descriptor.ts";
export { createRandom, type Random } from "./random.ts";
export { err, ok, type Result } from "./result.ts";
export { VirtualClock, type VirtualRun } from "./virtual-clock.ts";
