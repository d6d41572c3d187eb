import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";
import { bytesText } from "./bytes-text.ts";

const MIB = 1024 ** 2;

/** An owner, a die host and the spare one, each Node with its heap, and the resident buffers. */
const MEMORY_BYTES_MIN = 512 * MIB;

/** A die host opens a file an argument; a bridge four a mailbox. */
const OPEN_FILES_MIN = 256;

/** The kernel's default up to 5.15. Below it, what locks memory at all is refused. */
const LOCKED_BYTES_MIN = 64 * 1024;

/** Node reserves address space by the ten gigabytes for WebAssembly; it uses what it touches. */
const ADDRESS_SPACE_BYTES_MIN = 64 * 1024 * MIB;

/** Containers' default; a guest's RAM file there needs as much as the guest has. */
const SHARED_BYTES_MIN = 64 * MIB;

/** Whether limits leave room for what Holdfast needs. */
export const limits: Check = {
  id: "limits",
  title: "memory, open files, locked memory and /dev/shm suffice",
  scope: "machine",
  findings: [
    ...["memory-limit", "memory-low", "open-files"],
    ...["locked-memory", "address-space", "shm-small"],
  ],
  run: (facts) => [...memory(facts), ...process(facts), ...shared(facts)],
};

function memory({ limits: found }: Facts): readonly Finding[] {
  const { memoryBytesMax, memoryLimitPath, memoryBytesFree } = found;
  const wanted = bytesText(MEMORY_BYTES_MIN);
  const findings: Finding[] = [];
  if (memoryBytesMax !== null && memoryBytesMax < MEMORY_BYTES_MIN) {
    findings.push({
      id: "memory-limit",
      severity: "warning",
      subject: memoryLimitPath,
      message:
        `the control group may have ${bytesText(memoryBytesMax)}; an owner and two die ` +
        `hosts need ${wanted}`,
      mend:
        `raise it, by ${bytesText(MEMORY_BYTES_MIN - memoryBytesMax)} at least (docker ` +
        `run --memory, MemoryMax=)`,
      command: memoryLimitPath === null ? null : `cat ${memoryLimitPath}`,
    });
  }
  if (memoryBytesFree !== null && memoryBytesFree < MEMORY_BYTES_MIN) {
    findings.push({
      id: "memory-low",
      severity: "warning",
      subject: null,
      message:
        `${bytesText(memoryBytesFree)} of memory are free; an owner and two die hosts ` +
        `need ${wanted}`,
      mend: "end what needs it not, or add memory or swap",
      command: "free -m",
    });
  }
  return findings;
}

function process({ limits: found }: Facts): readonly Finding[] {
  const { openFilesMax, lockedBytesMax, addressSpaceBytesMax } = found;
  const findings: Finding[] = [];
  if (openFilesMax !== null && openFilesMax < OPEN_FILES_MIN) {
    findings.push({
      id: "open-files",
      severity: "warning",
      subject: "RLIMIT_NOFILE",
      message: `a process may have ${openFilesMax} files open; ${OPEN_FILES_MIN} are wanted`,
      mend: "raise the limit (LimitNOFILE= of a service)",
      command: "ulimit -n 1024",
    });
  }
  if (lockedBytesMax !== null && lockedBytesMax < LOCKED_BYTES_MIN) {
    findings.push({
      id: "locked-memory",
      severity: "note",
      subject: "RLIMIT_MEMLOCK",
      message:
        `a process may lock ${bytesText(lockedBytesMax)}: NVIDIA's driver does not ` +
        `count what it pins, others (vfio) do`,
      mend: "raise the limit (LimitMEMLOCK= of a service), if pinned buffers are refused",
      command: "ulimit -l unlimited",
    });
  }
  if (addressSpaceBytesMax !== null && addressSpaceBytesMax < ADDRESS_SPACE_BYTES_MIN) {
    findings.push({
      id: "address-space",
      severity: "warning",
      subject: "RLIMIT_AS",
      message:
        `a process may have ${bytesText(addressSpaceBytesMax)} of addresses; ` +
        `WebAssembly and CUDA reserve more than that and use little`,
      mend: "lift the limit; memory itself is limited better by a control group",
      command: "ulimit -v unlimited",
    });
  }
  return findings;
}

function shared({ limits: { sharedMemoryBytes } }: Facts): readonly Finding[] {
  if (sharedMemoryBytes === null || sharedMemoryBytes >= SHARED_BYTES_MIN) return [];
  return [
    {
      id: "shm-small",
      severity: "note",
      subject: "/dev/shm",
      message:
        `it holds ${bytesText(sharedMemoryBytes)}: a guest's RAM file and large ` +
        `payloads do not fit there`,
      mend: "mount it larger (docker run --shm-size), or keep such files elsewhere",
      command: "mount -o remount,size=50% /dev/shm",
    },
  ];
}
