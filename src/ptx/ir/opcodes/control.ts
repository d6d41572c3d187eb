// bra, ret, exit, barriers and trap: what ends a block.
import { form, refused, type Builder, type Form } from "../form.ts";

const branch: Builder = (reader) => {
  reader.expectOperands(1);
  const target = reader.label(0);
  reader.end(() => ({ kind: "jump", target }));
};

/** ret and exit: a kernel that returns has ended. */
const exit: Builder = (reader) => {
  reader.expectOperands(0);
  reader.end(() => ({ kind: "exit" }));
};

const trap: Builder = (reader) => {
  reader.expectOperands(0);
  reader.end(() => ({ kind: "trap" }));
};

const barrier: Builder = (reader) => {
  reader.expectOperands(1, 2);
  const [name, count] = reader.node.operands;
  if (name?.kind !== "integer" || name.bits !== 0n || count !== undefined) {
    throw reader.unsupported(
      "only barrier 0 over the whole block can be run here: no other barrier, no number of threads",
    );
  }
  reader.end((resume) => ({ kind: "barrier", resume }));
};

export const CONTROL: readonly Form[] = [
  form("bra uni?", branch),
  form("ret uni?", exit),
  form("exit", exit),
  form("trap", trap),
  form("bar cta? sync", barrier),
  form("barrier cta? sync aligned?", barrier),
  refused("bar cta? kind=arrive"),
  refused("bar cta? red combine=and|or|popc type=pred|u32"),
  refused("bar warp sync"),
  refused("barrier cta? kind=arrive aligned?"),
  refused("barrier cta? red combine=and|or|popc aligned? type=pred|u32"),
  refused("barrier cluster kind=arrive|wait order=release|relaxed|acquire? aligned?"),
];
