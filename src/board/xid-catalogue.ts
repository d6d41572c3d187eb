/**
 * The Xids: the numbers of the error lines that NVIDIA's driver writes to the kernel's log.
 * Numbers, names and what to do are those of NVIDIA's public Xid catalogue, and of its older list
 * for GPUs up to Volta, where the K80 belongs; the meanings are in our own words.
 */

/**
 * What an Xid says of the die. `application`: a program did wrong or was cut off; its context is
 * gone, the die is well. `die`: the die's memory, firmware or its connection to the bus. `board`:
 * links, power, what several dies share. `notice`: nothing is lost. None of them condemns a die: it
 * is asked, and what it answers counts.
 */
export type XidClass = "application" | "die" | "board" | "notice";

/** What to do about it, in one of a few ways. */
export type XidMend =
  | "none"
  | "again"
  | "guest"
  | "cause"
  | "program"
  | "reset"
  | "restart"
  | "power"
  | "link"
  | "update"
  | "watch";

export type Xid = {
  readonly number: number;
  /** As the driver's sources and the catalogue spell it, without the prefix ROBUST_CHANNEL_. */
  readonly name: string;
  readonly meaning: string;
  readonly class: XidClass;
  readonly mend: XidMend;
};

const MENDS: Readonly<Record<XidMend, string>> = {
  none: "nothing to do",
  again: "run the work again; where it comes back with other programs too, suspect the die",
  guest: "restart the machine; in a virtual machine, that one",
  cause: "look for another Xid at that time, of this die or of the one at the link's other end",
  program: "look for a wrong access or a wrong launch in the program that ran",
  reset: "reset the die or restart the machine; where it comes back, have the board replaced",
  restart: "restart the machine, from power off; check seating, power and cooling of the board",
  power: "connect the board's auxiliary power",
  link: "check the link between the dies, then reset them",
  update: "update the driver or the firmware",
  watch: "watch how often it comes; often means that the die's memory wears out",
};

/** What to do about the Xid, as the end of a sentence. */
export const mendOf = (xid: Xid): string => MENDS[xid.mend];

type Row = readonly [number, string, string, XidClass, XidMend];

/** Kepler to Volta, and what stayed as it was. */
const BASIC: readonly Row[] = [
  [1, "FIFO_ERROR_FIFO_METHOD", "invalid push buffer", "application", "program"],
  [2, "FIFO_ERROR_SW_METHOD", "invalid push buffer", "application", "program"],
  [3, "FIFO_ERROR_UNK_METHOD", "invalid push buffer", "application", "program"],
  [4, "FIFO_ERROR_CHANNEL_BUSY", "invalid push buffer or semaphore", "application", "program"],
  [6, "FIFO_ERROR_PARSE_ERR", "invalid push buffer", "application", "program"],
  [7, "FIFO_ERROR_PTE_ERR", "invalid push buffer address", "application", "program"],
  [8, "FIFO_ERROR_IDLE_TIMEOUT", "a channel stopped processing", "die", "again"],
  [9, "GR_ERROR_INSTANCE", "the driver programmed the die wrongly", "application", "update"],
  [11, "GR_ERROR_MISSING_HW", "invalid push buffer", "application", "program"],
  [12, "GR_ERROR_SW_METHOD", "the driver handled a graphics error", "application", "update"],
  [13, "GR_EXCEPTION", "exception in a kernel", "application", "program"],
  [14, "FAKE_ERROR", "no error", "notice", "none"],
  [16, "VBLANK_CALLBACK_TIMEOUT", "the display engine hung", "notice", "none"],
  [18, "BUS_MASTER_TIMEOUT_ERROR", "bus mastering is off in PCI config space", "die", "restart"],
  [19, "DISP_MISSED_NOTIFIER", "display engine error", "notice", "none"],
  [23, "RC_LOGGING_ENABLED", "error reporting is on", "notice", "none"],
  [24, "GR_SEMAPHORE_TIMEOUT", "semaphore timeout", "application", "again"],
  [25, "GR_ILLEGAL_NOTIFY", "illegal push buffer", "application", "program"],
  [26, "FIFO_ERROR_FBISTATE_TIMEOUT", "framebuffer timeout", "die", "reset"],
  [30, "BAD_ADDR_ACCESS", "semaphore access error", "application", "again"],
  [31, "FIFO_ERROR_MMU_ERR_FLT", "memory page fault", "application", "program"],
  [32, "PBDMA_ERROR", "corrupted push buffer", "application", "program"],
  [33, "SEC_ERROR", "internal micro-controller error", "die", "reset"],
  [37, "FECS_ERR_UNIMP_FIRMWARE_METHOD", "driver firmware error", "application", "update"],
  [38, "FECS_ERR_WATCHDOG_TIMEOUT", "driver firmware error", "die", "again"],
  [43, "RESETCHANNEL_VERIF_ERROR", "a program's channel was reset", "application", "program"],
  [44, "GR_FAULT_DURING_CTXSW", "fault during a context switch", "die", "again"],
  [45, "PREEMPTIVE_REMOVAL", "a program's channels were removed", "application", "again"],
  [46, "GPU_TIMEOUT_ERROR", "the die stopped processing", "die", "reset"],
  [48, "GPU_ECC_DBE", "double-bit ECC error", "die", "reset"],
  [54, "SILENT_RUNNING_PWR_REDUCED_CLOCKING", "no auxiliary power", "board", "power"],
  [56, "DISPLAY_CHANNEL_EXCEPTION", "display engine error", "notice", "none"],
  [57, "FB_LINK_TRAINING_FAILURE_ERROR", "the memory interface does not train", "die", "reset"],
  [58, "FB_MEMORY_ERROR", "the memory interface is unstable", "die", "reset"],
  [59, "PMU_ERROR", "internal micro-controller error", "die", "reset"],
  [61, "PMU_BREAKPOINT", "internal micro-controller breakpoint", "die", "reset"],
  [62, "PMU_HALT_ERROR", "internal micro-controller halt", "die", "reset"],
  [63, "INFOROM_PAGE_RETIREMENT_EVENT", "a memory page is retired or remapped", "die", "watch"],
  [64, "INFOROM_PAGE_RETIREMENT_FAILURE", "a page could not be retired", "die", "reset"],
  [66, "FECS_ERR_REG_ACCESS_VIOLATION", "illegal access by the driver", "application", "update"],
  [67, "FECS_ERR_VERIF_VIOLATION", "illegal access by the driver", "application", "update"],
  [68, "NVDEC0_ERROR", "video decoder exception", "application", "again"],
  [69, "GR_CLASS_ERROR", "wrong method or launch of a program", "application", "program"],
  [74, "NVLINK_ERROR", "NVLink error", "board", "link"],
  [78, "VGPU_START_ERROR", "a vGPU did not start", "notice", "update"],
  [79, "GPU_HAS_FALLEN_OFF_THE_BUS", "the die fell off the bus", "die", "restart"],
  [80, "PBDMA_PUSHBUFFER_CRC_MISMATCH", "data arrived corrupted", "die", "again"],
  [81, "VGA_SUBSYSTEM_ERROR", "VGA subsystem error", "notice", "none"],
  [90, "LTC_ERROR", "second-level cache error", "die", "reset"],
  [92, "EXCESSIVE_SBE_INTERRUPTS", "many single-bit ECC errors", "die", "watch"],
  [93, "INFOROM_ERASE_LIMIT_EXCEEDED", "the InfoROM is worn", "notice", "watch"],
  [94, "CONTAINED_ERROR", "uncorrectable memory error, contained", "die", "again"],
  [95, "UNCONTAINED_ERROR", "uncorrectable memory error, not contained", "die", "reset"],
];

/** Ampere and later. */
const RECENT: readonly Row[] = [
  [106, "SMBPBI_TEST_MESSAGE", "test message", "notice", "none"],
  [107, "SMBPBI_TEST_MESSAGE_SILENT", "test message", "notice", "none"],
  [108, "NVLINK_REMOTE_TRANSLATION_ERROR", "a remote address fault", "application", "program"],
  // NVIDIA's table asks for a reset; the die's own answer to a probe decides here.
  [109, "CTXSW_TIMEOUT_ERROR", "context switch timeout", "application", "reset"],
  [110, "SEC_FAULT_ERROR", "security fault", "die", "reset"],
  [119, "GSP_RPC_TIMEOUT", "the die's system processor does not answer", "die", "reset"],
  [120, "GSP_ERROR", "error in the die's system processor", "die", "reset"],
  [121, "C2C_ERROR", "chip-to-chip link error, corrected", "notice", "none"],
  [122, "SPI_PMU_RPC_READ_FAIL", "its flash cannot be read", "die", "reset"],
  [123, "SPI_PMU_RPC_WRITE_FAIL", "its flash cannot be written", "die", "reset"],
  [124, "SPI_PMU_RPC_ERASE_FAIL", "its flash cannot be erased", "die", "reset"],
  [125, "INFOROM_FS_ERROR", "the InfoROM cannot be read", "die", "reset"],
  [136, "ALI_TRAINING_FAIL", "a link does not train", "board", "link"],
  [137, "NVLINK_PRIV_ERR", "a fault of a die that NVLink told of", "application", "cause"],
  [140, "UNRECOVERABLE_ECC_ERROR_ESCAPE", "unrecovered ECC error", "die", "reset"],
  [141, "FAST_PATH_ERROR", "fault on CUDA's fast path", "application", "again"],
  [143, "GPU_INIT_ERROR", "the die does not initialise", "die", "reset"],
  [151, "KEY_ROTATION_ERROR", "a key was not changed in time", "die", "guest"],
  [154, "GPU_RECOVERY_ACTION_CHANGED", "says what another Xid asks for", "notice", "none"],
  [155, "NVLINK_SW_DEFINED_ERROR", "NVLink error", "board", "link"],
  [156, "RESOURCE_RETIREMENT_EVENT", "a part of the die is retired", "die", "reset"],
  [157, "RESOURCE_RETIREMENT_FAILURE", "a part could not be retired", "die", "watch"],
  [158, "GPU_FATAL_TIMEOUT", "a fatal timeout", "die", "reset"],
  [160, "CHANNEL_RETIREMENT_EVENT", "a memory channel is retired", "die", "watch"],
  [161, "CHANNEL_RETIREMENT_FAILURE", "a channel could not be retired", "die", "watch"],
  [162, "PSHC_REENGAGED", "power smoothing is on", "notice", "none"],
  [163, "PSHC_DISENGAGED", "power smoothing is off", "notice", "none"],
  [164, "PSHC_LOW_LIFETIME", "power smoothing wears out", "notice", "watch"],
  [165, "PSHC_ZERO_LIFETIME", "power smoothing is worn out", "notice", "watch"],
  [167, "PCIE_FATAL_TIMEOUT", "a fatal timeout on the bus", "die", "restart"],
  [168, "REDUCED_GPU_MEMORY_CAPACITY", "the die has less memory", "die", "reset"],
  [169, "SEC2_HALT_ERROR", "internal micro-controller halt", "die", "reset"],
  [171, "UNCORRECTABLE_DRAM_ERROR", "uncorrectable memory error", "die", "reset"],
  [172, "UNCORRECTABLE_SRAM_ERROR", "uncorrectable cache error", "die", "reset"],
];

const engines = (numbers: readonly number[], name: string, meaning: string): readonly Row[] =>
  numbers.map((number, at) => [number, `${name}${at}_ERROR`, meaning, "application", "again"]);

const range = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

/** Engines that have a number each; an exception in one is told to the program that used it. */
const ENGINES: readonly Row[] = [
  ...engines([39, 40, 41, 70, 71, 72, 75, 76, 77, 85], "CE", "copy engine exception"),
  ...range(126, 135).map((number): Row => [
    number,
    `CE${number - 116}_ERROR`,
    "copy engine exception",
    "application",
    "again",
  ]),
  ...[20, 21, 22, 27, 28, 29, 34, 35, 36, 42, 60].map((number): Row => [
    number,
    "VIDEO_ERROR",
    "video engine exception",
    "application",
    "again",
  ]),
  ...engines([47, 65, 73, 142], "NVENC", "video encoder exception"),
  ...[83, 84, 88, 89, 96, 97, 98].map((number, at): Row => [
    number,
    `NVDEC${at + 1}_ERROR`,
    "video decoder exception",
    "application",
    "again",
  ]),
  ...engines([82, ...range(99, 105)], "NVJPG", "JPEG engine exception"),
  ...engines([86, 139], "OFA", "optical flow engine exception"),
  ...range(144, 150).map((number): Row => [
    number,
    "NVLINK_UNIT_ERROR",
    "NVLink error",
    "board",
    "link",
  ]),
];

/** Every Xid that we know of, by number. */
export const XIDS: ReadonlyMap<number, Xid> = new Map(
  [...BASIC, ...RECENT, ...ENGINES]
    .sort(([a], [b]) => a - b)
    .map(([number, name, meaning, kind, mend]) => [
      number,
      { number, name, meaning, class: kind, mend },
    ]),
);

/** Says what the driver asks for from now on; the line has it, and the number does not. */
const RECOVERY_CHANGED = 154;

/** `GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)`. */
const RECOVERY_ACTION = /recovery action.*\bto\s+0x[0-9a-f]+\s*\(([^)]*)\)/is;

/**
 * The Xid of that number; one that we do not know may be anything, so that its die is asked. With
 * the line's text, what that line asks for.
 */
export function xidOf(number: number, text = ""): Xid {
  const known = XIDS.get(number);
  const action = number === RECOVERY_CHANGED ? RECOVERY_ACTION.exec(text)?.[1] : undefined;
  if (known !== undefined && action !== undefined) return recoveryOf(known, action);
  if (known !== undefined) return known;
  return { number, name: "UNKNOWN", meaning: "not in our catalogue", class: "die", mend: "again" };
}

/** None, GPU Reset Required, Node Reboot Required, Drain P2P, Drain and Reset. */
function recoveryOf(known: Xid, action: string): Xid {
  const asked = { ...known, meaning: `the driver asks for: ${action}` };
  if (/^\s*none\b/i.test(action)) return asked;
  return { ...asked, class: "die", mend: /reboot/i.test(action) ? "restart" : "reset" };
}
