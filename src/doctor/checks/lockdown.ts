import type { Check } from "../check.ts";
import type { Facts } from "../facts.ts";
import type { Finding } from "../finding.ts";

/** What the kernel forbids even to root, and what of ours then fails. */
export const lockdown: Check = {
  id: "lockdown",
  title: "the kernel forbids nothing that is needed: lockdown, module signatures",
  scope: "slot",
  findings: ["lockdown", "module-signature"],
  run: (facts) => [...locked(facts), ...unsigned(facts)],
};

function locked({ security }: Facts): readonly Finding[] {
  const { lockdown: level } = security;
  if (level !== "integrity" && level !== "confidentiality") return [];
  const more = level === "confidentiality" ? "; reads of debugfs files too" : "";
  return [
    {
      id: "lockdown",
      severity: "warning",
      subject: level,
      message:
        `the kernel is locked down (${level}): writes to PCI configuration space, to ` +
        `debugfs mailboxes, and mapping BARs through sysfs fail with EPERM, and so do ` +
        `unsigned modules${more}`,
      mend:
        "switch Secure Boot off, or lockdown= off the kernel's command line; it cannot be " +
        "lifted while it runs",
      command: "cat /sys/kernel/security/lockdown; mokutil --sb-state",
    },
  ];
}

/** A module that is there already has passed. */
function unsigned({ security, slot }: Facts): readonly Finding[] {
  if (slot.isThere) return [];
  if (security.isSecureBoot !== true && !security.isSignatureEnforced) return [];
  const why = security.isSecureBoot === true ? "Secure Boot is on" : "sig_enforce is set";
  return [
    {
      id: "module-signature",
      severity: "warning",
      subject: "bar_swap",
      message: `${why}: the kernel refuses a bar_swap module without a signature that it knows`,
      mend:
        "sign the module with a key that is enrolled (mokutil --import), or switch Secure " +
        "Boot off",
      command: "mokutil --sb-state; modinfo -F signer bar_swap",
    },
  ];
}
