/** What the flag parser says, in one line each that begins with our name. */
import {
  ArgumentScannerError,
  formatMessageForArgumentScannerError,
  text_en,
  type ApplicationText,
} from "@stricli/core";

/** A failure that nobody expected: a bug, with what its finder needs to report it. */
export function bugText(error: unknown): string {
  const [message, stack] =
    error instanceof Error ? [error.message, error.stack ?? ""] : [String(error), ""];
  return `holdfast: bug: ${message.replaceAll(/[\r\n]+/g, " ")}\n${stack}`;
}

const meantText = (names: readonly string[]): string =>
  names.length > 0 ? ` (did you mean ${names.join(" or ")}?)` : "";

export const APPLICATION_TEXT: ApplicationText = {
  ...text_en,
  noCommandRegisteredForInput: ({ input, corrections }) => {
    const meant = meantText(corrections.map((name) => name.replaceAll("`", "")));
    return `holdfast: unknown command '${input}'${meant}; 'holdfast --help' lists them`;
  },
  exceptionWhileParsingArguments: (error) => {
    if (!(error instanceof ArgumentScannerError)) return bugText(error);
    const message = formatMessageForArgumentScannerError(error, {
      ArgumentParseError: ({ externalFlagNameOrPlaceholder: name, exception }) =>
        `--${name}: ${exception instanceof Error ? exception.message : String(exception)}`,
      EnumValidationError: ({ externalFlagName: name, input, values }) =>
        `--${name}: '${input}' is none of ${values.join(", ")}`,
      FlagNotFoundError: ({ input, corrections }) =>
        `unknown flag --${input}${meantText(corrections.map((name) => `--${name}`))}`,
      UnsatisfiedFlagError: ({ externalFlagName: name }) => `--${name} is missing or has no value`,
      UnsatisfiedPositionalError: ({ placeholder }) => `${placeholder} is missing`,
      UnexpectedPositionalError: ({ input }) => `surplus argument '${input}'`,
    });
    return `holdfast: ${message}; --help shows usage`;
  },
  exceptionWhileLoadingCommandFunction: bugText,
  exceptionWhileLoadingCommandContext: bugText,
  exceptionWhileRunningCommand: bugText,
};
