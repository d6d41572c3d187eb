/** Files by the name of libcuda, wherever the loader would look: found without loading any. */
import { dirname } from "node:path";
import { LIBCUDA_PATHS } from "../../gpu-cuda/mod.ts";
import type { Environment } from "../facts.ts";
import type { MachineFiles } from "../machine-files.ts";

export type LibraryFile = {
  /** As it would be named, e.g. `/usr/lib/x86_64-linux-gnu/libcuda.so.1`. */
  readonly path: string;
  /** Of the driver it came with, from the name of the file that the link leads to. */
  readonly version: string | null;
  /** `64-bit x86-64` and the like; null where it is no ELF file. */
  readonly format: string | null;
  /** Whether a process of this architecture can load it. */
  readonly isOurs: boolean;
  readonly isStub: boolean;
};

/** Files of ld.so.conf.d, and folders named in them: a distribution has a dozen. */
const CONFIG_FILES_MAX = 64;
const FOLDERS_MAX = 128;

const STANDARD_FOLDERS = [
  "/lib",
  "/usr/lib",
  "/lib64",
  "/usr/lib64",
  "/usr/lib32",
  "/usr/local/lib",
];

/** e_machine of elf.h, by Node's name of the architecture. */
const MACHINES: Readonly<Record<string, { readonly number: number; readonly name: string }>> = {
  x64: { number: 62, name: "x86-64" },
  arm64: { number: 183, name: "AArch64" },
  ia32: { number: 3, name: "x86" },
  ppc64: { number: 21, name: "PowerPC64" },
};

/** The part of an ELF header up to e_machine. */
const ELF_BYTES = 20;

/** Finds `libcuda.so*` in every folder that the loader, or we, would look in. */
export function findLibcuda(options: {
  readonly files: MachineFiles;
  readonly environment: Environment;
  readonly architecture: string;
}): readonly LibraryFile[] {
  const { files, environment, architecture } = options;
  const searched = (environment["LD_LIBRARY_PATH"] ?? "").split(":").filter((path) => path !== "");
  const folders = [
    ...new Set([
      ...searched,
      ...configuredFolders(files),
      ...STANDARD_FOLDERS,
      ...LIBCUDA_PATHS.filter((path) => path.startsWith("/")).map((path) => dirname(path)),
    ]),
  ].slice(0, FOLDERS_MAX);
  return folders.flatMap((folder) =>
    files
      .names(folder.replace(/^\/+/, ""))
      .filter((name) => /^libcuda\.so(\.\d+)*$/.test(name))
      .map((name) => describe(files, `${folder}/${name}`, architecture)),
  );
}

/** Folders of /etc/ld.so.conf and what it includes; other forms of it are not used in practice. */
function configuredFolders(files: MachineFiles): readonly string[] {
  const configs = files
    .names("etc/ld.so.conf.d")
    .filter((name) => name.endsWith(".conf"))
    .slice(0, CONFIG_FILES_MAX)
    .map((name) => `etc/ld.so.conf.d/${name}`);
  return ["etc/ld.so.conf", ...configs].flatMap((path) =>
    (files.text(path) ?? "").split("\n").flatMap((line) => {
      const folder = line.replace(/#.*/, "").trim().replace(/\/+$/, "");
      return folder.startsWith("/") ? [folder] : [];
    }),
  );
}

function describe(files: MachineFiles, path: string, architecture: string): LibraryFile {
  const inside = path.replace(/^\/+/, "");
  const target = files.realPath(inside) ?? inside;
  const header = files.bytes(inside, ELF_BYTES);
  const format = header === null ? null : formatOf(header);
  return {
    path,
    version: /libcuda\.so\.(\d{3,4}\.\d+(?:\.\d+)?)$/.exec(target)?.[1] ?? null,
    format: format?.name ?? null,
    isOurs: format !== null && format.is64Bit && format.machine === MACHINES[architecture]?.number,
    isStub: /(^|\/)stubs\//.test(path) || /(^|\/)stubs\//.test(target),
  };
}

type Format = { readonly is64Bit: boolean; readonly machine: number; readonly name: string };

function formatOf(header: Buffer): Format | null {
  if (header.length < ELF_BYTES || header.readUInt32BE(0) !== 0x7f45_4c46) return null;
  const is64Bit = header[4] === 2;
  const machine = header.readUInt16LE(18);
  const named = Object.values(MACHINES).find(({ number }) => number === machine);
  const name = `${is64Bit ? "64" : "32"}-bit ${named?.name ?? `machine ${String(machine)}`}`;
  return { is64Bit, machine, name };
}
