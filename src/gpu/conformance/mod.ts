export {
  childFaults,
  runConformance,
  type ChildFaults,
  type ConformanceOptions,
  type ConformanceSkip,
  type Faults,
} from "./run-conformance.ts";
export { readSimpleSignatures } from "./simple-signatures.ts";
