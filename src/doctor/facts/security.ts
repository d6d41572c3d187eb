/** What the kernel forbids, even to root. */
import type { MachineFiles } from "../machine-files.ts";

export type SecurityFacts = {
  readonly lockdown: "none" | "integrity" | "confidentiality" | null;
  /** Null where the machine does not boot by UEFI, or does not tell. */
  readonly isSecureBoot: boolean | null;
  /** Whether modules without a signature are refused. */
  readonly isSignatureEnforced: boolean;
};

/** The variable by the UEFI specification's global GUID; four bytes of attributes come first. */
const SECURE_BOOT =
  "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c" as const;
const SECURE_BOOT_BYTES = 5;

export function readSecurity(files: MachineFiles): SecurityFacts {
  const chosen = /\[(none|integrity|confidentiality)\]/.exec(
    files.text("sys/kernel/security/lockdown") ?? "",
  )?.[1];
  const variable = files.bytes(SECURE_BOOT, SECURE_BOOT_BYTES);
  return {
    lockdown: (chosen as SecurityFacts["lockdown"] | undefined) ?? null,
    isSecureBoot: variable?.length === SECURE_BOOT_BYTES ? variable[4] === 1 : null,
    isSignatureEnforced: files.text("sys/module/module/parameters/sig_enforce") === "Y",
  };
}
