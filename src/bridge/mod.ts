export { createBridge } from "./bridge.ts";
export type {
  Bridge,
  BridgeError,
  BridgeErrorCode,
  BridgeOptions,
  CreateBridge,
  MailboxCounters,
  RecordOutcome,
} from "./bridge-api.ts";
export { RAM_LOW_BYTES } from "./guest-address.ts";
export type { Mailbox, MailboxV1, MailboxV2, VerifyMode } from "./mailbox.ts";
export { readMailboxes, type MailboxDefaults } from "./mailbox-config.ts";
export { TIMEOUT_MS_MAX } from "./mailbox-rules.ts";
