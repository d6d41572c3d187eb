/* What the kernels compute, by name, written from their descriptions and not from their PTX. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

static uint64_t address_of(const struct launch *launch, int index)
{
    uint64_t value;
    memcpy(&value, launch->parameters[index], sizeof value);
    return value;
}

static uint32_t word_of(const struct launch *launch, int index)
{
    uint32_t value;
    memcpy(&value, launch->parameters[index], sizeof value);
    return value;
}

static size_t threads_of(const struct launch *launch)
{
    return (size_t)launch->block[0] * launch->block[1] * launch->block[2];
}

/* The memory behind parameter `index`, or NULL where a kernel would fault. */
static void *memory_of(const struct launch *launch, int index, size_t bytes)
{
    uint64_t address = address_of(launch, index);
    return fake_is_allocated(address, bytes) ? (void *)(uintptr_t)address : NULL;
}

/* Elements that the launch covers: a grid too small leaves the rest undone, as on a device. */
static size_t covered(const struct launch *launch, size_t elements)
{
    size_t threads = launch->grid[0] * threads_of(launch);
    return threads < elements ? threads : elements;
}

static int run_mail(const struct launch *launch)
{
    size_t count = covered(launch, word_of(launch, 2));
    void *out = memory_of(launch, 0, 4 * count), *in = memory_of(launch, 1, 4 * count);
    if (out == NULL || in == NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    memmove(out, in, 4 * count);
    return CUDA_SUCCESS;
}

static int run_vadd(const struct launch *launch, int is_mutated)
{
    size_t count = covered(launch, word_of(launch, 3));
    float *out = memory_of(launch, 0, 4 * count);
    float *a = memory_of(launch, 1, 4 * count), *b = memory_of(launch, 2, 4 * count);
    if (out == NULL || a == NULL || b == NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (size_t i = 0; i < count; i++) {
        float sum = a[i] + b[i];
        out[i] = is_mutated ? sum + 1.0f : sum;
    }
    return CUDA_SUCCESS;
}

static int run_slow_add(const struct launch *launch)
{
    size_t count = covered(launch, word_of(launch, 2));
    uint32_t iterations = word_of(launch, 3);
    float *out = memory_of(launch, 0, 4 * count), *in = memory_of(launch, 1, 4 * count);
    if (out == NULL || in == NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (size_t i = 0; i < count; i++) {
        float sum = in[i];
        for (uint32_t k = 0; k < iterations; k++)
            sum += 1.0f;
        out[i] = sum;
    }
    return CUDA_SUCCESS;
}

static int run_probe(const struct launch *launch)
{
    size_t threads = threads_of(launch);
    uint32_t *out = memory_of(launch, 0, 4 * threads), token = word_of(launch, 1);
    if (out == NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (uint32_t t = 0; t < threads; t++)
        out[t] = token ^ (t * 2654435761u);
    return CUDA_SUCCESS;
}

static int run_sum(const struct launch *launch)
{
    size_t threads = threads_of(launch), blocks = launch->grid[0], count = word_of(launch, 2);
    double *out = memory_of(launch, 0, 8 * blocks), sums[1024];
    float *in = memory_of(launch, 1, 4 * count);
    if (out == NULL || in == NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (size_t b = 0; b < blocks; b++) {
        for (size_t t = 0; t < threads; t++) {
            sums[t] = 0.0;
            for (size_t i = b * threads + t; i < count; i += blocks * threads)
                sums[t] += in[i];
        }
        for (size_t half = threads / 2; half > 0; half /= 2)
            for (size_t t = 0; t < half; t++)
                sums[t] += sums[t + half];
        out[b] = sums[0];
    }
    return CUDA_SUCCESS;
}

/* out[t] = in[f(t)], within a block. */
static int run_permute(const struct launch *launch, int is_reversed)
{
    size_t threads = threads_of(launch);
    uint32_t *out = memory_of(launch, 0, 4 * threads), *in = memory_of(launch, 1, 4 * threads);
    if (out == NULL || in == NULL || (!is_reversed && launch->shared_bytes < 4 * threads))
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (size_t t = 0; t < threads; t++)
        out[t] = in[is_reversed ? threads - 1 - t : (t + 1) % threads];
    return CUDA_SUCCESS;
}

static int run_tickets(const struct launch *launch)
{
    size_t threads = launch->grid[0] * threads_of(launch);
    uint32_t *counter = memory_of(launch, 0, 4), *taken = memory_of(launch, 1, 4 * threads);
    if (counter == NULL || taken == NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (size_t i = 0; i < threads; i++)
        taken[(*counter)++] += 1;
    return CUDA_SUCCESS;
}

static int run_coordinates(const struct launch *launch)
{
    const unsigned *block = launch->block, *grid = launch->grid;
    size_t total = threads_of(launch) * grid[0] * grid[1] * grid[2];
    uint32_t *out = memory_of(launch, 0, 4 * total);
    if (out == NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    const unsigned sizes[6] = { block[0], block[1], block[2], grid[0], grid[1], grid[2] };
    for (size_t linear = 0; linear < total; linear++) {
        size_t rest = linear;
        out[linear] = 0;
        for (int axis = 0; axis < 6; axis++) {
            out[linear] += (uint32_t)(rest % sizes[axis]) << (4 * axis);
            rest /= sizes[axis];
        }
    }
    return CUDA_SUCCESS;
}

/* Copies every parameter but the first to where the first points, each at a multiple of 8. */
static int run_gather(const struct launch *launch)
{
    const struct function *function = launch->function;
    size_t total = 0;
    for (int i = 1; i < function->count; i++)
        total += (function->parameters[i].bytes + 7) / 8 * 8;
    char *out = memory_of(launch, 0, total);
    if (out == NULL)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (int i = 1; i < function->count; i++) {
        memcpy(out, launch->parameters[i], function->parameters[i].bytes);
        out += (function->parameters[i].bytes + 7) / 8 * 8;
    }
    return CUDA_SUCCESS;
}

static int run_named(const struct launch *launch)
{
    const char *name = launch->function->name;
    if (strcmp(name, "mail") == 0)
        return run_mail(launch);
    if (strcmp(name, "vadd") == 0 || strcmp(name, "vadd_mutated") == 0)
        return run_vadd(launch, strcmp(name, "vadd") != 0);
    if (strcmp(name, "slow_add") == 0)
        return run_slow_add(launch);
    if (strcmp(name, "probe") == 0)
        return run_probe(launch);
    if (strcmp(name, "sum_f64") == 0)
        return run_sum(launch);
    if (strcmp(name, "reverse_block") == 0 || strcmp(name, "rotate_block") == 0)
        return run_permute(launch, strcmp(name, "reverse_block") == 0);
    if (strcmp(name, "take_tickets") == 0)
        return run_tickets(launch);
    if (strcmp(name, "coordinates") == 0)
        return run_coordinates(launch);
    if (strcmp(name, "gather") == 0)
        return run_gather(launch);
    if (strcmp(name, "oob") == 0)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (strcmp(name, "misaligned") == 0)
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    if (strcmp(name, "trap") == 0)
        return CUDA_ERROR_LAUNCH_FAILED;
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* A fault shows at the calls that follow, not at the launch itself. */
int fake_run(const struct launch *launch)
{
    int code = run_named(launch);
    if (code == CUDA_ERROR_NOT_SUPPORTED)
        return code;
    if (code != CUDA_SUCCESS)
        fake_poison(code);
    return CUDA_SUCCESS;
}
