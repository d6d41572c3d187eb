// Limits on PTX text, so that hostile text costs bounded time and memory. CUB's largest kernels are
// under 1 MB of text, and no compiler nests deeper than a handful of levels.

/** UTF-16 code units of one PTX text; libraries ship fat modules of several MB. */
export const PTX_TEXT_LENGTH_MAX = 32 * 1024 * 1024;

/** Levels of `{ }` blocks, and of parentheses or braces in a constant or an initialiser. */
export const NESTING_DEPTH_MAX = 64;

/** Registers that one `.reg` directive or one kernel may declare. */
export const REGISTERS_MAX = 1 << 20;

/** Bytes of one variable, and of all of a module's variables together. */
export const VARIABLE_BYTES_MAX = 256 * 1024 * 1024;

/** Bytes of local memory of one thread: CUDA's own limit since compute capability 2.0. */
export const LOCAL_BYTES_MAX = 512 * 1024;

/** Bytes of a kernel's parameters: 4 KiB until PTX 8.1, 32764 since. */
export const PARAMETER_BYTES_MAX = 32_764;

/** The newest PTX that the parser knows. */
export const PTX_VERSION_MAX = [9, 0] as const;
