import { CATALOGUE } from "../../src/gpu/mod.ts";

/**
 * A module with the catalogue's entries and signatures and empty bodies: as much as the fake driver
 * reads, which runs kernels by their names.
 */
export const CATALOGUE_PTX = [
  ".version 4.2\n.target sm_30\n.address_size 64\n",
  ...CATALOGUE.map(({ entry, parameters }) => {
    const list = parameters.map(({ name, kind, type }) => {
      return `.param .${kind === "number" ? type : "u64"} ${entry}_${name}`;
    });
    return `.visible .entry ${entry}(${list.join(", ")})\n{\n  ret;\n}\n`;
  }),
].join("");
