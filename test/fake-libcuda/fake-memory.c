/* Memory of both kinds, and the copies between them, which are done before the call returns. */
#include "fake-objects.h"

#include <stdlib.h>
#include <string.h>

static struct object *find_memory(enum kind kind, uint64_t address)
{
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (object_is_ours(&all_objects[i], kind) &&
            (uint64_t)(uintptr_t)all_objects[i].memory == address)
            return &all_objects[i];
    return NULL;
}

/* Host memory of one context serves copies of every context. */
static int is_pinned(const void *address, size_t bytes)
{
    uint64_t start = (uint64_t)(uintptr_t)address;
    return memory_holds(HOST_MEMORY, start, bytes, 1) || memory_holds(LOCKED_MEMORY, start, bytes, 1);
}

static size_t used_bytes(int device)
{
    size_t used = 0;
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (all_objects[i].kind == DEVICE_MEMORY && all_objects[i].context->device == device)
            used += all_objects[i].bytes;
    return used;
}

EXPORT int cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    ENTER("cuMemGetInfo_v2");
    NEED_CONTEXT();
    *total_bytes = device_memory_bytes();
    *free_bytes = *total_bytes - used_bytes(current_context->device);
    return CUDA_SUCCESS;
}

static int allocate(enum kind kind, size_t bytes, size_t alignment, void **out)
{
    NEED_CONTEXT();
    if (bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    size_t free_bytes = device_memory_bytes() - used_bytes(current_context->device);
    if (kind == DEVICE_MEMORY && bytes > free_bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t padded = (bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, padded);
    struct object *made = memory == NULL ? NULL : object_make(kind);
    if (made == NULL) {
        free(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
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
    object_drop(found);
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

/* Whether any of the bytes are locked already. */
static int is_locked(uint64_t start, uint64_t end)
{
    for (int i = 0; i < OBJECTS_MAX; i++) {
        uint64_t held = (uint64_t)(uintptr_t)all_objects[i].memory;
        if (all_objects[i].kind == LOCKED_MEMORY && held < end &&
            start < held + all_objects[i].bytes)
            return 1;
    }
    return 0;
}

#define REGISTER_PORTABLE 1u

EXPORT int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    ENTER("cuMemHostRegister_v2");
    NEED_CONTEXT();
    uint64_t start = (uint64_t)(uintptr_t)memory;
    if (bytes == 0 || flags != REGISTER_PORTABLE)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_locked(start, start + bytes))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    struct object *made = object_make(LOCKED_MEMORY);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->memory = memory;
    made->bytes = bytes;
    return CUDA_SUCCESS;
}

EXPORT int cuMemHostUnregister(void *memory)
{
    ENTER("cuMemHostUnregister");
    int code = release(LOCKED_MEMORY, (uint64_t)(uintptr_t)memory);
    return code == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : code;
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
