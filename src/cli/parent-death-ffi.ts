/** Ends this process when its parent is gone, even while it is stuck in a call of the driver. */
import { loadLibrary } from "../base/mod.ts";

/** linux/prctl.h. */
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9n;

/**
 * Asks the kernel for SIGKILL at the death of the parent's thread that started us, which is Node's
 * main thread. Returns false where the C library is not where glibc has it: then the closing socket
 * ends the process, as long as it can still look at it.
 */
export function endWithParent(): boolean {
  const library = loadLibrary("libc.so.6");
  if (!library.ok) return false;
  const calls = library.value.bind({
    prctl: { args: ["int32", "uint64", "uint64", "uint64", "uint64"], result: "int32" },
  });
  if (!calls.ok) return false;
  return calls.value.prctl(PR_SET_PDEATHSIG, SIGKILL, 0n, 0n, 0n) === 0;
}
