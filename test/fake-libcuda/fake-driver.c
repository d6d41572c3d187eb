/* The driver, its devices and their contexts. */
#include "fake-objects.h"

#include <stdio.h>

#define DEVICES_MAX 8

static int is_initialised;

#define NEED_INIT()                                 \
    do {                                            \
        if (!is_initialised)                        \
            return CUDA_ERROR_NOT_INITIALIZED;      \
    } while (0)

static long device_count(void)
{
    long count = fake_setting("HOLDFAST_FAKE_DEVICES", 2);
    return count > DEVICES_MAX ? DEVICES_MAX : count;
}

size_t device_memory_bytes(void)
{
    return (size_t)fake_setting("HOLDFAST_FAKE_MEMORY_BYTES", 256l << 20);
}

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
    *bytes = device_memory_bytes();
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

EXPORT int cuCtxCreate_v2(struct object **context, unsigned flags, int device)
{
    ENTER("cuCtxCreate_v2");
    NEED_INIT();
    (void)flags;
    struct object *made = object_make(CONTEXT);
    if (made == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->context = NULL;
    made->device = device;
    current_context = *context = made;
    return CUDA_SUCCESS;
}

EXPORT int cuCtxDestroy_v2(struct object *context)
{
    ENTER("cuCtxDestroy_v2");
    if (context == NULL || context->kind != CONTEXT)
        return CUDA_ERROR_INVALID_CONTEXT;
    for (int i = 0; i < OBJECTS_MAX; i++)
        if (all_objects[i].kind != FREE && all_objects[i].context == context)
            object_drop(&all_objects[i]);
    object_drop(context);
    if (current_context == context)
        current_context = NULL;
    return CUDA_SUCCESS;
}

EXPORT int cuCtxSetCurrent(struct object *context)
{
    ENTER("cuCtxSetCurrent");
    if (context != NULL && context->kind != CONTEXT)
        return CUDA_ERROR_INVALID_CONTEXT;
    current_context = context;
    return CUDA_SUCCESS;
}
