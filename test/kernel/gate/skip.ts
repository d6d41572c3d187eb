/** Thrown where this machine cannot run the kernel test; the message names what is missing. */
export class SkipGate extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SkipGate";
  }
}
