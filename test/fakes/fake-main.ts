// The whole program over an owner in memory: `node fake-main.js <words>`. FAKE_OWNER holds options
// of the fake as JSON, and `refuse` for how opening it fails.
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { err, ok } from "../../src/base/mod.ts";
import { runProcess, type OwnerRequestError } from "../../src/cli/mod.ts";
import { createFakeOwner, type FakeOwnerOptions } from "./fake-owner.ts";

type FakeMainOptions = FakeOwnerOptions & {
  readonly refuse?: OwnerRequestError;
  readonly result?: Awaited<ReturnType<NonNullable<FakeOwnerOptions["run"]>>>;
  /** `status` throws, as a bug would. */
  readonly hasBug?: boolean;
};

const options = JSON.parse(process.env["FAKE_OWNER"] ?? "{}") as FakeMainOptions;
const { refuse, result, hasBug } = options;

await runProcess(process, {
  words: process.argv.slice(2),
  environment: process.env,
  temporaryDirectory: tmpdir(),
  packagePath: fileURLToPath(new URL("../../../package.json", import.meta.url)),
  openOwner: (request) => {
    if (refuse !== undefined) return Promise.resolve(err(refuse));
    request.log("backend: soft, since this is a fake");
    request.log("a bring-up step");
    const fake = createFakeOwner(
      result === undefined ? options : { ...options, run: () => Promise.resolve(result) },
    );
    const status = (): never => {
      throw new Error("a bug\nin two lines");
    };
    const owner = hasBug === true ? Object.assign(fake, { status }) : fake;
    return Promise.resolve(ok({ owner, basePayload: "/nowhere/base.ptx" }));
  },
});
