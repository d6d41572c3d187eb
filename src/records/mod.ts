export { crc32c } from "./crc32c.ts";
export { CBD2_DONE, CUBD_DONE, type Cbd2Done, type CubdDone } from "./done-records.ts";
export {
  BLANK_CUBB2_JOB,
  CUBB2_JOB,
  CUBB_JOB,
  type Cubb2Job,
  type CubbJob,
} from "./job-records.ts";
export type { LaunchArgument, LaunchFault, LaunchFaultCode } from "./launch-argument.ts";
export {
  decodeLaunchDescriptor,
  encodeLaunchDescriptor,
  LAUNCH_DESCRIPTOR_BYTES_MAX,
  launchDescriptorBytes,
  type LaunchDescriptor,
  type LaunchExtent,
} from "./launch-descriptor.ts";
export {
  LAUNCH_ARGUMENT,
  LAUNCH_DESCRIPTOR,
  type LaunchArgumentRecord,
  type LaunchHeader,
} from "./launch-records.ts";
export type { RecordFault, RecordFaultCode } from "./record.ts";
export {
  ARGUMENT_KIND,
  ARGUMENT_TYPE,
  ARGUMENT_TYPE_BYTES,
  JOB_FLAG,
  OPERATION,
  operationName,
  STATUS,
  statusName,
  type ArgumentKind,
  type ArgumentType,
  type JobFlagName,
  type OperationName,
  type StatusName,
} from "./tables.ts";
