/** Brings dies online before there is work for them, so that the first job waits for nothing. */
import { err, ok, type Log, type Result } from "../base/mod.ts";
import type { OnlineReport, Owner, OwnerRefusal } from "../owner/mod.ts";
import { EXIT, type ExitCode } from "./exit-code.ts";
import { durationText } from "./units.ts";

/**
 * Brings the dies online, one after the other (null: all that are discovered). A die that refuses
 * is logged and left: it is tried again when a job wants it. The error is the last refusal, where
 * not one die came online.
 */
export async function bringOnline(
  owner: Pick<Owner, "discover" | "online" | "bindAll">,
  wanted: readonly number[] | null,
  log: Log,
): Promise<Result<readonly OnlineReport[], OwnerRefusal>> {
  const discovery = await owner.discover();
  if (!discovery.ok) return discovery;
  const dies = wanted ?? discovery.value.dies.map(({ die }) => die);
  await owner.bindAll(dies);
  const online: OnlineReport[] = [];
  let refusal: OwnerRefusal = { code: "no_device", message: NO_DIES };
  for (const die of dies) {
    const report = await owner.online(die);
    if (report.ok) {
      online.push(report.value);
      log(onlineLine(report.value));
      continue;
    }
    refusal = report.error;
    log(`die ${die}: not online: ${report.error.message}`);
  }
  return online.length > 0 ? ok(online) : err(refusal);
}

const NO_DIES = "no dies; '--backend soft' runs without a GPU";

const onlineLine = ({ die, address, deviceName, elapsedMs }: OnlineReport): string =>
  `die ${die}: ${address} ${deviceName}, ready in ${durationText(elapsedMs * 1e6)}`;

/** The exit code of a command that the owner refused. */
export const exitOfRefusal = ({ code }: OwnerRefusal): ExitCode =>
  code === "no_device" || code === "no_such_die" ? EXIT.noDevice : EXIT.deviceFault;
