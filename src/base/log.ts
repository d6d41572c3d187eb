/** Takes one event as one line of text, without its end of line, and writes it at once. */
export type Log = (text: string) => void;

const pad = (value: number, width: number): string => String(value).padStart(width, "0");

/** `[YYYY-MM-DD HH:MM:SS.mmm] text`, in local time: the line form of the owner's log. */
export function stampLine(time: Date, text: string): string {
  const date = [pad(time.getFullYear(), 4), pad(time.getMonth() + 1, 2), pad(time.getDate(), 2)];
  const clock = [pad(time.getHours(), 2), pad(time.getMinutes(), 2), pad(time.getSeconds(), 2)];
  return `[${date.join("-")} ${clock.join(":")}.${pad(time.getMilliseconds(), 3)}] ${text}`;
}

/**
 * A log whose every line is stamped and handed to `write` as one piece, end of line included, so
 * that a hang names the step before it. Line ends inside `text` become spaces: one event, one line.
 */
export function stampedLog(write: (line: string) => void, now: () => Date): Log {
  return (text) => {
    write(`${stampLine(now(), text.replaceAll(/[\r\n]+/g, " "))}\n`);
  };
}
