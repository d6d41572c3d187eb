import type { Check } from "../check.ts";
import { dieText } from "./wanted.ts";

/**
 * Whether a die has all of its lanes. Speed alone says nothing: a die that idles slows its link
 * down, and speeds it up again by itself.
 */
export const link: Check = {
  id: "link",
  title: "each die's PCIe link has all its lanes",
  scope: "gpu",
  findings: ["link-narrow"],
  run: ({ dies }) =>
    dies.flatMap((die) => {
      const found = die.link;
      // A virtual machine may show none at all.
      if (found === null || found.width === 0 || found.width >= found.widthMax) return [];
      return [
        {
          id: "link-narrow",
          severity: "note",
          subject: die.address,
          message:
            `${dieText(die)} has x${found.width} (${found.speed}) of x${found.widthMax} ` +
            `(${found.speedMax}): copies take ${found.widthMax / found.width} times as long`,
          mend: "use a slot with all lanes, seat the board again, or change the riser",
          command: `lspci -vv -s ${die.address} | grep -i lnk`,
        },
      ];
    }),
};
