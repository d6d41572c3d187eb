// The driver's library, and what the environment does to its list of devices.
import { elf, H200_HOST, K80_DEVICES, K80_HOST, libraryFiles, loads, PLAIN } from "../machines.ts";
import { change, type Change } from "../machine-tree.ts";
import type { Situation } from "../situation.ts";

const FOLDER = "usr/lib/x86_64-linux-gnu";

const WITHOUT_LIBRARY: Change = {
  files: { [`${FOLDER}/libcuda.so.470.256.02`]: undefined },
  links: { [`${FOLDER}/libcuda.so.1`]: undefined, [`${FOLDER}/libcuda.so`]: undefined },
};

const notLoaded = (message: string): Change => ({
  probes: { libcuda: { state: "libcuda", report: { state: "not_loaded", message } } },
});

const NO_FILE = "libcuda.so.1: cannot open shared object file: No such file or directory";

export const LIBCUDA: readonly Situation[] = [
  {
    name: "no libcuda at all",
    machine: change(K80_HOST, WITHOUT_LIBRARY, notLoaded(NO_FILE)),
    finds: [{ id: "libcuda-missing", says: ["no libcuda.so.1", "ldconfig"] }],
  },
  {
    name: "no libcuda, and nobody could ask",
    machine: change(K80_HOST, WITHOUT_LIBRARY, { probes: { libcuda: undefined } }),
    finds: [{ id: "libcuda-missing" }],
  },
  {
    name: "only the toolkit's stub, in a folder of its own",
    machine: change(K80_HOST, WITHOUT_LIBRARY, notLoaded(NO_FILE), {
      files: {
        "etc/ld.so.conf.d/cuda.conf": "/usr/local/cuda/lib64\n/usr/local/cuda/lib64/stubs\n",
        "usr/local/cuda/lib64/stubs/libcuda.so": elf(),
      },
    }),
    finds: [
      {
        id: "libcuda-missing",
        says: ["/usr/local/cuda/lib64/stubs/libcuda.so is the toolkit's stub"],
      },
    ],
  },
  {
    name: "the toolkit's stub by the driver's name",
    machine: change(
      K80_HOST,
      { files: { "opt/stubs/libcuda.so.1": elf() } },
      loads({ path: "/opt/stubs/libcuda.so.1", initCode: 34, cudaVersion: 0 }),
    ),
    environment: { LD_LIBRARY_PATH: "/opt/stubs" },
    finds: [
      {
        id: "libcuda-stub",
        about: "/opt/stubs/libcuda.so.1",
        says: ["error 34", "LD_LIBRARY_PATH"],
      },
    ],
  },
  {
    name: "a library of 32 bits only",
    machine: change(K80_HOST, WITHOUT_LIBRARY, notLoaded("libcuda.so.1: wrong ELF class"), {
      files: { "usr/lib32/libcuda.so.1": elf(32, 3) },
    }),
    finds: [{ id: "libcuda-format", about: "/usr/lib32/libcuda.so.1", says: ["32-bit x86"] }],
  },
  {
    name: "a library of another architecture",
    machine: change(K80_HOST, WITHOUT_LIBRARY, notLoaded("libcuda.so.1: wrong ELF class"), {
      files: { "usr/lib64/libcuda.so.1": elf(64, 183) },
    }),
    finds: [{ id: "libcuda-format", says: ["64-bit AArch64"] }],
  },
  {
    name: "an empty file by the library's name",
    machine: change(K80_HOST, WITHOUT_LIBRARY, notLoaded("libcuda.so.1: file too short"), {
      files: { "usr/lib64/libcuda.so.1": "" },
    }),
    finds: [{ id: "libcuda-format", says: ["no library"] }],
  },
  {
    name: "libcuda.so without libcuda.so.1",
    machine: change(K80_HOST, WITHOUT_LIBRARY, notLoaded(NO_FILE), {
      files: { [`${FOLDER}/libcuda.so`]: elf() },
    }),
    finds: [{ id: "libcuda-unversioned", about: `/${FOLDER}/libcuda.so`, says: ["ldconfig"] }],
  },
  {
    name: "a library whose dependency is missing",
    machine: change(
      K80_HOST,
      notLoaded("libnvidia-fatbinaryloader.so.470.256.02: cannot open shared object file"),
    ),
    finds: [
      {
        id: "libcuda-unloadable",
        about: `/${FOLDER}/libcuda.so.1`,
        says: ["libnvidia-fatbinaryloader", `ldd /${FOLDER}/libcuda.so.1`],
      },
    ],
  },
  {
    name: "a library that crashes whoever loads it",
    machine: change(K80_HOST, {
      probes: {
        libcuda: {
          state: "failed",
          code: "CRASHED",
          message: "the process that asked ended by SIGSEGV",
        },
      },
    }),
    finds: [{ id: "libcuda-unloadable", says: ["SIGSEGV"] }],
  },
  {
    name: "a driver that does not come back from its start",
    machine: change(K80_HOST, { probes: { libcuda: { state: "hung", afterMs: 15_000 } } }),
    finds: [{ id: "libcuda-hung", says: ["15 s"] }],
  },
  {
    name: "the FFI package's native part is not installed",
    machine: change(K80_HOST, {
      probes: {
        libcuda: {
          state: "failed",
          code: "NO_FFI",
          message: "Cannot find the native Koffi module",
        },
      },
    }),
    finds: [{ id: "ffi-missing", says: ["Cannot find the native Koffi module", "npm ci"] }],
  },
  {
    name: "a driver of CUDA 6.5",
    machine: change(K80_HOST, loads({ cudaVersion: 6050, devices: K80_DEVICES })),
    finds: [{ id: "ptx-too-new", says: ["CUDA 6.5", "ISA 4.2", "CUDA 7.0"] }],
  },
  {
    name: "CUDA_VISIBLE_DEVICES shows one die of two",
    machine: change(K80_HOST, loads({ devices: K80_DEVICES.slice(1) })),
    environment: { CUDA_VISIBLE_DEVICES: "1" },
    finds: [{ id: "devices-hidden", says: ["'1'", "1 of 2 dies", "hidden: 0000:05:00.0"] }],
  },
  {
    name: "CUDA_VISIBLE_DEVICES is empty, and hides all",
    machine: change(K80_HOST, loads({ initCode: 100 })),
    environment: { CUDA_VISIBLE_DEVICES: "" },
    finds: [
      { id: "devices-hidden", says: ["0 of 2 dies", "unset CUDA_VISIBLE_DEVICES"] },
      { id: "driver-no-start", says: ["100", "CUDA_VISIBLE_DEVICES"] },
    ],
  },
  {
    name: "CUDA_VISIBLE_DEVICES names all dies",
    machine: K80_HOST,
    environment: { CUDA_VISIBLE_DEVICES: "0,1" },
    finds: [],
  },
  {
    name: "ordinals in another order than the bus, spelt as the driver spells",
    machine: change(
      K80_HOST,
      loads({
        devices: [...K80_DEVICES].reverse().map((device, ordinal) => ({
          ...device,
          ordinal,
          pciAddress: `0000${device.pciAddress.toUpperCase()}`,
        })),
      }),
    ),
    finds: [{ id: "ordinals-mixed", says: ["0 = 00000000:06:00.0", "PCI_BUS_ID"] }],
  },
  {
    name: "CUDA is asked for where there is no GPU",
    machine: change(PLAIN, notLoaded(NO_FILE)),
    asked: { backend: "cuda" },
    finds: [{ id: "no-gpu", says: ["--backend cuda", "lspci"] }, { id: "libcuda-missing" }],
  },
  {
    name: "the toolkit without a GPU is well",
    machine: change(PLAIN, libraryFiles("580.65.06"), loads({ initCode: 100 })),
    finds: [],
  },
  {
    name: "a container that shows the host's GPU and was not given it",
    machine: change(
      H200_HOST,
      { files: { ".dockerenv": "", dev: undefined }, modes: { dev: undefined } },
      notLoaded(NO_FILE),
    ),
    finds: [{ id: "gpu-withheld", says: ["--gpus all"] }],
  },
];
