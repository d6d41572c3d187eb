/** What to do when the driver does not start or gives no context, by CUresult. */
const MENDS: Readonly<Record<number, string>> = {
  2: "the device has no memory left for it; see who holds it with nvidia-smi",
  3: "the driver did not start; see the kernel's log for what its module says",
  34:
    "this libcuda is the toolkit's stub, not a driver: take the toolkit's stubs folder out " +
    "of LD_LIBRARY_PATH",
  36: "the driver is too old for this call: install a newer one",
  46:
    "the device is held by another process or its compute mode forbids it; see nvidia-smi " +
    "-q -d COMPUTE",
  100:
    "the driver sees no device: check nvidia-smi and CUDA_VISIBLE_DEVICES, and in a " +
    "container that the devices are passed in",
  101: "the driver knows no such device; see nvidia-smi -L",
  102: "the vGPU licence is not applied",
  304:
    "a call to the operating system failed: check that /dev/nvidia* exist and that this " +
    "user may open them",
  802: "the system is not ready: where there are NVSwitches, start nvidia-fabricmanager",
  803:
    "libcuda and the kernel module are of different versions: reload the nvidia module, or " +
    "reboot after the driver's update",
  804:
    "the forward-compatibility libcuda does not support this device: use the driver's own " +
    "libcuda.so.1",
  805: "MPS cannot be reached: start nvidia-cuda-mps-control, or unset CUDA_MPS_PIPE_DIRECTORY",
  806: "MPS failed: restart nvidia-cuda-mps-control",
  807: "MPS is not ready: try again shortly",
  808: "MPS takes no more clients",
  809: "MPS takes no more connections",
  999:
    "the driver gives no reason: check that the nvidia and nvidia_uvm modules are loaded, " +
    "that /dev/nvidia-uvm exists, and dmesg for Xid lines",
};

/** A sentence that says what is wrong and what to do about it. */
export function mendOf(code: number): string {
  return MENDS[code] ?? "see nvidia-smi and dmesg";
}
