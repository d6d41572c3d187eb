// The base payload: the kernels that Holdfast itself launches. The committed base.ptx is made from
// this file by tools/make-kernels.ts and loads on everything from a GK210 under driver R470 to today,
// so nothing here may need more than PTX ISA 4.2 and sm_30: no __restrict__ (it becomes ld.global.nc,
// which is newer), no shuffles, no atomics beyond those of Kepler.
//
// Every kernel takes its outputs first, then its inputs, then n, and guards against the last block's
// surplus threads, so that any grid that covers n is right.

#include <stdint.h>

// The sum over a block is a tree over this many threads; the launch must use this block size.
#define SUM_THREADS 256

// Op 1: words are delivered unchanged, to the bit.
extern "C" __global__ void mail(uint32_t *out, const uint32_t *in, uint32_t n)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i];
}

// Op 2.
extern "C" __global__ void vadd(float *out, const float *a, const float *b, uint32_t n)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a[i] + b[i];
}

// Op 3: wrong on purpose, in every element, to prove that the checks can fail.
extern "C" __global__ void vadd_mutated(float *out, const float *a, const float *b, uint32_t n)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a[i] + b[i] + 1.0f;
}

// Op 4: adds 1.0f again and again, since a kernel whose length is an argument is what shows a busy
// die, a timeout and an overlap. Each sum is rounded, so no compiler may fold the loop.
extern "C" __global__ void slow_add(float *out, const float *in, uint32_t n, uint32_t iters)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = in[i];
        for (uint32_t k = 0; k < iters; k++)
            x += 1.0f;
        out[i] = x;
    }
}

// Health: cheap, and its answer depends on the token, so that an old answer cannot pass for a new one.
extern "C" __global__ void probe(uint32_t *out, uint32_t token)
{
    uint32_t t = threadIdx.x;
    out[t] = token ^ (t * 2654435761u);
}

// The checksum: each block sums a strided share of `in` in f64 and writes one partial sum. The order
// of additions depends on the launch's shape alone, never on timing.
extern "C" __global__ void sum_f64(double *out, const float *in, uint32_t n)
{
    __shared__ double sums[SUM_THREADS];
    double sum = 0.0;
    for (uint64_t i = blockIdx.x * SUM_THREADS + threadIdx.x; i < n; i += gridDim.x * SUM_THREADS)
        sum += (double)in[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (uint32_t width = SUM_THREADS / 2; width > 0; width /= 2) {
        if (threadIdx.x < width)
            sums[threadIdx.x] += sums[threadIdx.x + width];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = sums[0];
}
