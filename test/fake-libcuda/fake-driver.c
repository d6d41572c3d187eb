/* The driver's calls. Every object knows its context, and is refused in another. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICES_MAX 8
#define SHARED_DEFAULT (48 * 1024)
#define SHARED_OPTIN (227 * 1024)
#define OBJECTS_MAX 4096

enum kind { FREE, CONTEXT, MODULE, STREAM, EVENT, DEVICE_MEMORY, HOST_MEMORY };

struct object {
    enum kind kind;
    struct object *context;
    int device;                   /* contexts */
    void *memory;                 /* memory of both kinds */
    size_t bytes;
    uint64_t time_ns;             /* events; 0 until recorded */
    struct function *functions;   /* modules */
    int count;
};

static struct object objects[OBJECTS_MAX];
static int is_initialised;
static long busy_left;
static __thread struct object *current;

static long device_count(void)
{
    long count = fake_setting("HOLDFAST_FAKE_DEVICES", 2);
    return count > DEVICES_MAX ? DEVICES_MAX : count;
}

static size_t memory_bytes(void)
{
    return (size_t)fake_setting("HOLDFAST_FAKE_MEMORY_BYTES", 256l << 20);
}

static struct object *make(enum kind kind)
{
    for (int i = 0; i < OBJECTS_MAX; i++) {
        if (objects[i].kind == FREE) {
            objects[i] = (struct object){ .kind = kind, .context = current };
            return &objects[i];
        }
    }
    return NULL;
}

/* Whether `object` is a live object of that kind in the current context. */
static int is_ours(const struct object *object, enum kind kind)
{
    return object >= objects && object < objects + OBJECTS_MAX && object->kind == kind &&
           object->context == current;
}

static void drop(struct object *object)
{
    if (object->memory != NULL)
        memset(object->memory, 0xdd, object->bytes);
    free(object->memory);
    free(object->functions);
    *object = (struct object){ .kind = FREE };
}

static struct object *find_memory(enum kind kind, uint64_t address)
{
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (is_ours(&objects[i], kind) && (uint64_t)(uintptr_t)objects[i].memory == address)
            return &objects[i];
    return NULL;
}

static int is_within(enum kind kind, uint64_t address, size_t bytes, int is_any_context)
{
    for (int i = 0; i < OBJECTS_MAX; i++) {
        uint64_t start = (uint64_t)(uintptr_t)objects[i].memory;
        if (objects[i].kind == kind && (is_any_context || objects[i].context == current) &&
            address >= start && address + bytes <= start + objects[i].bytes)
            return 1;
    }
    return 0;
}

int fake_is_allocated(uint64_t address, size_t bytes)
{
    return is_within(DEVICE_MEMORY, address, bytes, 0);
}

/* Host memory of one context serves copies of every context. */
static int is_pinned(const void *address, size_t bytes)
{
    return is_within(HOST_MEMORY, (uint64_t)(uintptr_t)address, bytes, 1);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

#define NEED_INIT()                                 \
    do {                                            \
        if (!is_initialised)                        \
            return CUDA_ERROR_NOT_INITIALIZED;      \
    } while (0)
#define NEED_CONTEXT()                              \
    do {                                            \
        if (current == NULL)                        \
            return CUDA_ERROR_INVALID_CONTEXT;      \
    } while (0)
#define NEED(object, kind)                          \
    do {                                            \
        NEED_CONTEXT();                             \
        if (!is_ours(object, kind))                 \
            return CUDA_ERROR_INVALID_HANDLE;       \
    } while (0)

/* -- The driver and its devices -- */

EXPORT int cuInit(unsigned flags)
{
    ENTER("cuInit");
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (device_count() == 0)
        return CUDA_ERROR_NO_DEVICE;
    is_initialised = 1;
    return CUDA_SUCCESS;
}

EXPORT int cuDriverGetVersion(int *version)
{
    ENTER("cuDriverGetVersion");
    *version = (int)fake_setting("HOLDFAST_FAKE_VERSION", 13000);
    return CUDA_SUCCESS;
}

EXPORT int cuDeviceGetCount(int *count)
{
    ENTER("cuDeviceGetCount");
    NEED_INIT();
    *count = (int)device_count();
    return CUDA_SUCCESS;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    ENTER("cuDeviceGet");
    NEED_INIT();
    if (ordinal < 0 || ordinal >= device_count())
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

EXPORT int cuDeviceGetName(char *name, int bytes, int device)
{
    ENTER("cuDeviceGetName");
    snprintf(name, (size_t)bytes, "Fake GPU %d", device);
    return CUDA_SUCCESS;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    ENTER("cuDeviceTotalMem_v2");
    (void)device;
    *bytes = memory_bytes();
    return CUDA_SUCCESS;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    ENTER("cuDeviceGetAttribute");
    (void)device;
    switch (attribute) {
    case 1: *value = 1024; break;
    case 8: *value = SHARED_DEFAULT; break;
    case 16: *value = 4; break;
    case 75: *value = 9; break;
    case 76: *value = 0; break;
    case 97: *value = SHARED_OPTIN; break;
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

EXPORT int cuDeviceGetPCIBusId(char *address, int bytes, int device)
{
    ENTER("cuDeviceGetPCIBusId");
    snprintf(address, (size_t)bytes, "0000:1B:%02X.0", device);
    return CUDA_SUCCESS;
}

/* -- Contexts -- */

EXPORT int cuCtxCreate_v2(struct object **context, unsigned flags, int device)
{
    ENTER("cuCtxCreate_v2");
    NEED_INIT();
    (void)flags;
    struct object *made = make(CONTEXT);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->context = NULL;
    made->device = device;
    current = *context = made;
    return CUDA_SUCCESS;
}

EXPORT int cuCtxDestroy_v2(struct object *context)
{
    ENTER("cuCtxDestroy_v2");
    if (context == NULL || context->kind != CONTEXT)
        return CUDA_ERROR_INVALID_CONTEXT;
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (objects[i].kind != FREE && objects[i].context == context)
            drop(&objects[i]);
    drop(context);
    if (current == context)
        current = NULL;
    return CUDA_SUCCESS;
}

EXPORT int cuCtxSetCurrent(struct object *context)
{
    ENTER("cuCtxSetCurrent");
    if (context != NULL && context->kind != CONTEXT)
        return CUDA_ERROR_INVALID_CONTEXT;
    current = context;
    return CUDA_SUCCESS;
}

/* -- Memory -- */

static size_t used_bytes(int device)
{
    size_t used = 0;
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (objects[i].kind == DEVICE_MEMORY && objects[i].context->device == device)
            used += objects[i].bytes;
    return used;
}

EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    ENTER("cuMemGetInfo_v2");
    NEED_CONTEXT();
    *total_bytes = memory_bytes();
    *free_bytes = *total_bytes - used_bytes(current->device);
    return CUDA_SUCCESS;
}

static int allocate(enum kind kind, size_t bytes, size_t alignment, void **out)
{
    NEED_CONTEXT();
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (kind == DEVICE_MEMORY && bytes > memory_bytes() - used_bytes(current->device))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct object *made = make(kind);
    size_t padded = (bytes + alignment - 1) / alignment * alignment;
    void *memory = made == NULL ? NULL : aligned_alloc(alignment, padded);
    if (memory == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memset(memory, 0xcd, bytes);
    made->memory = memory;
    made->bytes = bytes;
    *out = memory;
    return CUDA_SUCCESS;
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    ENTER("cuMemAlloc_v2");
    void *memory;
    int code = allocate(DEVICE_MEMORY, bytes, 256, &memory);
    if (code == CUDA_SUCCESS)
        *address = (uint64_t)(uintptr_t)memory;
    return code;
}

EXPORT int cuMemAllocHost_v2(void **out, size_t bytes)
{
    ENTER("cuMemAllocHost_v2");
    return allocate(HOST_MEMORY, bytes, 4096, out);
}

static int release(enum kind kind, uint64_t address)
{
    NEED_CONTEXT();
    struct object *found = find_memory(kind, address);
    if (found == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    drop(found);
    return CUDA_SUCCESS;
}

EXPORT int cuMemFree_v2(uint64_t address)
{
    ENTER("cuMemFree_v2");
    return release(DEVICE_MEMORY, address);
}

EXPORT int cuMemFreeHost(void *address)
{
    ENTER("cuMemFreeHost");
    return release(HOST_MEMORY, (uint64_t)(uintptr_t)address);
}

/* -- Streams and events -- */

EXPORT int cuStreamCreate(struct object **stream, unsigned flags)
{
    ENTER("cuStreamCreate");
    NEED_CONTEXT();
    (void)flags;
    *stream = make(STREAM);
    return *stream == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

EXPORT int cuStreamDestroy_v2(struct object *stream)
{
    ENTER("cuStreamDestroy_v2");
    NEED(stream, STREAM);
    drop(stream);
    return CUDA_SUCCESS;
}

static int query(void)
{
    if (busy_left == 0)
        return CUDA_SUCCESS;
    if (busy_left > 0)
        busy_left--;
    return CUDA_ERROR_NOT_READY;
}

#ifndef WITHOUT_STREAM_QUERY
EXPORT int cuStreamQuery(struct object *stream)
{
    ENTER("cuStreamQuery");
    NEED(stream, STREAM);
    return query();
}
#endif

EXPORT int cuEventCreate(struct object **event, unsigned flags)
{
    ENTER("cuEventCreate");
    NEED_CONTEXT();
    (void)flags;
    *event = make(EVENT);
    return *event == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

EXPORT int cuEventDestroy_v2(struct object *event)
{
    ENTER("cuEventDestroy_v2");
    NEED(event, EVENT);
    drop(event);
    return CUDA_SUCCESS;
}

EXPORT int cuEventRecord(struct object *event, struct object *stream)
{
    ENTER("cuEventRecord");
    NEED(event, EVENT);
    NEED(stream, STREAM);
    event->time_ns = now_ns();
    return CUDA_SUCCESS;
}

EXPORT int cuEventQuery(struct object *event)
{
    ENTER("cuEventQuery");
    NEED(event, EVENT);
    return query();
}

EXPORT int cuEventElapsedTime(float *milliseconds, struct object *start, struct object *end)
{
    ENTER("cuEventElapsedTime");
    NEED(start, EVENT);
    NEED(end, EVENT);
    if (start->time_ns == 0 || end->time_ns == 0)
        return CUDA_ERROR_INVALID_HANDLE;
    *milliseconds = (float)((double)(end->time_ns - start->time_ns) / 1e6);
    return busy_left == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes,
                                struct object *stream)
{
    ENTER("cuMemcpyHtoDAsync_v2");
    NEED(stream, STREAM);
    if (!fake_is_allocated(target, bytes) || !is_pinned(source, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy((void *)(uintptr_t)target, source, bytes);
    return CUDA_SUCCESS;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *target, uint64_t source, size_t bytes,
                                struct object *stream)
{
    ENTER("cuMemcpyDtoHAsync_v2");
    NEED(stream, STREAM);
    if (!fake_is_allocated(source, bytes) || !is_pinned(target, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(target, (void *)(uintptr_t)source, bytes);
    return CUDA_SUCCESS;
}

EXPORT int cuMemsetD8Async(uint64_t target, unsigned char value, size_t bytes,
                           struct object *stream)
{
    ENTER("cuMemsetD8Async");
    NEED(stream, STREAM);
    if (!fake_is_allocated(target, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    memset((void *)(uintptr_t)target, value, bytes);
    return CUDA_SUCCESS;
}

/* -- Modules and launches -- */

EXPORT int cuModuleLoadDataEx(struct object **module, const void *image, unsigned count,
                              int *options, void **values)
{
    ENTER("cuModuleLoadDataEx");
    NEED_CONTEXT();
    char *log = NULL;
    size_t log_bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 5)
            log = values[i];
        if (options[i] == 6)
            log_bytes = (size_t)(uintptr_t)values[i];
    }
    struct function *functions = calloc(FUNCTIONS_MAX, sizeof *functions);
    int found = 0;
    int code = fake_read_ptx(image, functions, &found, log, log_bytes);
    struct object *made = code == CUDA_SUCCESS ? make(MODULE) : NULL;
    if (made == NULL) {
        free(functions);
        return code == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : code;
    }
    for (int i = 0; i < found; i++)
        functions[i].shared_limit = SHARED_DEFAULT;
    made->functions = functions;
    made->count = found;
    *module = made;
    return CUDA_SUCCESS;
}

EXPORT int cuModuleUnload(struct object *module)
{
    ENTER("cuModuleUnload");
    NEED(module, MODULE);
    drop(module);
    return CUDA_SUCCESS;
}

EXPORT int cuModuleGetFunction(struct function **function, struct object *module, const char *name)
{
    ENTER("cuModuleGetFunction");
    NEED(module, MODULE);
    for (int i = 0; i < module->count; i++) {
        if (strcmp(module->functions[i].name, name) == 0) {
            *function = &module->functions[i];
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_NOT_FOUND;
}

/* Whether the current context has a module that holds it. */
static int is_our_function(const struct function *function)
{
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (is_ours(&objects[i], MODULE) && function >= objects[i].functions &&
            function < objects[i].functions + objects[i].count)
            return 1;
    return 0;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, struct function *function)
{
    ENTER("cuFuncGetAttribute");
    if (!is_our_function(function))
        return CUDA_ERROR_INVALID_HANDLE;
    *value = 0;
    return attribute == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

EXPORT int cuFuncSetAttribute(struct function *function, int attribute, int value)
{
    ENTER("cuFuncSetAttribute");
    if (!is_our_function(function))
        return CUDA_ERROR_INVALID_HANDLE;
    if (attribute != 8 || value < 0 || value > SHARED_OPTIN)
        return CUDA_ERROR_INVALID_VALUE;
    function->shared_limit = value;
    return CUDA_SUCCESS;
}

#ifndef WITHOUT_PARAM_INFO
EXPORT int cuFuncGetParamInfo(struct function *function, size_t index, size_t *offset,
                              size_t *bytes)
{
    ENTER("cuFuncGetParamInfo");
    if (!is_our_function(function))
        return CUDA_ERROR_INVALID_HANDLE;
    if (index >= (size_t)function->count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = function->parameters[index].offset;
    *bytes = function->parameters[index].bytes;
    return CUDA_SUCCESS;
}
#endif

static int is_bad_shape(const struct launch *launch)
{
    const unsigned *grid = launch->grid, *block = launch->block;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    return threads == 0 || threads > 1024 || block[0] > 1024 || block[1] > 1024 || block[2] > 64 ||
           grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[0] > 0x7fffffff ||
           grid[1] > 65535 || grid[2] > 65535 ||
           launch->shared_bytes > (unsigned)launch->function->shared_limit;
}

EXPORT int cuLaunchKernel(struct function *function, unsigned grid_x, unsigned grid_y,
                          unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, struct object *stream, void **parameters,
                          void **extra)
{
    ENTER("cuLaunchKernel");
    NEED(stream, STREAM);
    if (!is_our_function(function))
        return CUDA_ERROR_INVALID_HANDLE;
    struct launch launch = { function, { grid_x, grid_y, grid_z }, { block_x, block_y, block_z },
                             shared_bytes, parameters };
    if (is_bad_shape(&launch) || extra != NULL)
        return CUDA_ERROR_INVALID_VALUE;
    busy_left = fake_setting("HOLDFAST_FAKE_BUSY", 0);
    return fake_run(&launch);
}
