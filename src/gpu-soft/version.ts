/** The version in package.json, which a test compares; a die host need not read files to know it. */
export const HOLDFAST_VERSION = "0.1.0";
