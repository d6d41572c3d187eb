/*
 * A fake libcuda.so.1 for tests: the same symbols, real memory behind device addresses, kernels
 * run by the name of their entry. It is strict where the driver is (handles belong to contexts,
 * one context is current on a thread) so that a wrong binding fails here first. It compiles no PTX.
 *
 * Scripted through the environment, read at every call:
 *   HOLDFAST_FAKE_DEVICES=2            devices; 0 makes cuInit fail with 100
 *   HOLDFAST_FAKE_MEMORY_BYTES=N       memory of each device, default 256 MiB
 *   HOLDFAST_FAKE_VERSION=13000        what cuDriverGetVersion says
 *   HOLDFAST_FAKE_FAIL=cuInit=999,...  these calls return these codes and do nothing
 *   HOLDFAST_FAKE_BUSY=N               after a launch, N queries answer 600 (not ready); -1: all do
 *   HOLDFAST_FAKE_TRACE=FILE           one line a call is appended to FILE
 * Built with -DWITHOUT_STREAM_QUERY it lacks a symbol, with -DWITHOUT_PARAM_INFO it is an old
 * driver.
 */
#ifndef HOLDFAST_FAKE_H
#define HOLDFAST_FAKE_H

#include <stddef.h>
#include <stdint.h>

/* The CUresults that the fake gives of its own accord; names and numbers as in cuda.h. */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_ILLEGAL_ADDRESS = 700,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
    CUDA_ERROR_MISALIGNED_ADDRESS = 716,
    CUDA_ERROR_LAUNCH_FAILED = 719,
    CUDA_ERROR_NOT_SUPPORTED = 801,
};

#define EXPORT __attribute__((visibility("default")))

/* Shared memory of a block: what every kernel may use, and what it may ask for. */
#define SHARED_DEFAULT (48 * 1024)
#define SHARED_OPTIN (227 * 1024)

#define PARAMETERS_MAX 16
#define NAME_BYTES 64

struct parameter {
    size_t offset;
    size_t bytes;
};

struct function {
    char name[NAME_BYTES];
    int count;
    struct parameter parameters[PARAMETERS_MAX];
    int shared_limit;
};

struct launch {
    const struct function *function;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    void **parameters;
};

/* fake-control.c: logs the call; a code if it must fail, by script or since an earlier fault. */
int fake_enter(const char *call);
long fake_setting(const char *name, long fallback);
/* From now on every call of this process fails with `code`, as measured on the real driver. */
int fake_poison(int code);

#define ENTER(call)                                 \
    do {                                            \
        int forced_ = fake_enter(call);             \
        if (forced_ != 0)                           \
            return forced_;                         \
    } while (0)

/* fake-objects.c: whether the bytes lie in one allocation of the current context. */
int fake_is_allocated(uint64_t address, size_t bytes);

/* fake-driver.c */
size_t device_memory_bytes(void);

/* fake-stream.c: how many queries say "not ready" from now on; -1: all. */
void fake_set_busy(long queries);

/* fake-ptx.c: reads the entries of a text; 0 or a code with a message in `log`. */
int fake_read_ptx(const char *text, struct function *functions, int *count, char *log,
                  size_t log_bytes);
#define FUNCTIONS_MAX 32

/* fake-kernels.c: runs a kernel by its name, to the end. */
int fake_run(const struct launch *launch);

#endif
