export type { OpenOwner, OwnerRequest, OwnerRequestError } from "./open-owner.ts";
export { EXIT, type ExitCode } from "./exit-code.ts";
export { runProcess, type ProcessOptions } from "./run-process.ts";
