/* Modules, their functions, and launches. */
#include "fake-objects.h"

#include <stdlib.h>
#include <string.h>

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
    struct object *made = code == CUDA_SUCCESS ? object_make(MODULE) : NULL;
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
    object_drop(module);
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
        if (object_is_ours(&all_objects[i], MODULE) && function >= all_objects[i].functions &&
            function < all_objects[i].functions + all_objects[i].count)
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
    fake_set_busy(fake_setting("HOLDFAST_FAKE_BUSY", 0));
    return fake_run(&launch);
}
