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
export type { Mailbox, MailboxV1, MailboxV2, VerifyMode } from "./mailbox.ts";
