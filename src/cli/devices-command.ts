/** `holdfast devices`: what is there. */
import type { CommandFunction } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import type { JsonFlag, OwnerFlags } from "./flags.ts";
import { complain, withOwner } from "./owner-session.ts";
import { tableText } from "./table.ts";

export const devicesCommand: CommandFunction<OwnerFlags & JsonFlag> = (surroundings, flags) =>
  withOwner(surroundings, flags, async ({ owner }) => {
    const discovery = await owner.discover();
    if (!discovery.ok) {
      complain(surroundings, discovery.error.message);
      return EXIT.noDevice;
    }
    const { dies, occupant } = discovery.value;
    const { slot } = await owner.status();
    if (flags.json) {
      surroundings.output.write(`${JSON.stringify({ slot, occupant, dies })}\n`);
    } else {
      const rows = dies.map(({ die, address, deviceName }) => [
        ...[String(die), address, die === occupant ? "yes" : "-", deviceName],
      ]);
      surroundings.output.write(tableText(["die", "address", "in slot", "device"], rows));
    }
    if (dies.length > 0) return EXIT.ok;
    complain(surroundings, "no dies; '--backend soft' runs without a GPU");
    return EXIT.noDevice;
  });
