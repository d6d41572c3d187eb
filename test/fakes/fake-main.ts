// The whole program over an owner in memory: `node fake-main.js <words>`. FAKE_OWNER holds options
// of the fake as JSON, and `refuse` for how opening it fails.
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { err, ok } from "../../src/base/mod.ts";
import type { Job, JobResult } from "../../src/owner/mod.ts";
import { runProcess, type OwnerRequestError } from "../../src/cli/mod.ts";
import { createFakeOwner, type FakeOwnerOptions } from "./fake-owner.ts";
import { runFakeKernel, type FakeKernels } from "./fake-kernels.ts";

type FakeMainOptions = FakeOwnerOptions & {
  readonly refuse?: OwnerRequestError;
  readonly result?: Awaited<ReturnType<NonNullable<FakeOwnerOptions["run"]>>>;
  /**
   * `run` adds vectors, as the kernels of base.ptx do; "blind" makes the mutation's as vadd's, "off"
   * writes a wrong last byte and swears that all is right.
   */
  readonly kernels?: FakeKernels;
  /** `status` throws, as a bug would. */
  readonly hasBug?: boolean;
};

const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const options = JSON.parse(process.env["FAKE_OWNER"] ?? "{}") as FakeMainOptions;
const { refuse, result, kernels, hasBug } = options;

await runProcess(process, {
  words: process.argv.slice(2),
  environment: process.env,
  temporaryDirectory: tmpdir(),
  packagePath: pathOf("../../../package.json"),
  basePayload: pathOf("../../../kernels/base.ptx"),
  program: [process.execPath, fileURLToPath(import.meta.url)],
  openOwner: (request) => {
    if (refuse !== undefined) return Promise.resolve(err(refuse));
    request.log("backend soft, since this is a fake");
    request.log("a bring-up step");
    const run = (_die: number, job: Job): Promise<JobResult> =>
      Promise.resolve(result ?? runFakeKernel(job, kernels ?? "right"));
    const told = options.delayMs === undefined ? {} : { log: request.log };
    const fake = createFakeOwner({ ...options, ...told, run });
    const status = (): never => {
      throw new Error("a bug\nin two lines");
    };
    const owner = hasBug === true ? Object.assign(fake, { status }) : fake;
    return Promise.resolve(ok({ owner, basePayload: pathOf("../../../kernels/base.ptx") }));
  },
});
