// Sums 128 numbers per block in shared memory; one atomic add per block into the total.
extern "C" __global__ void reduce(const int* input, int* sums, int* total, int count) {
  __shared__ int partial[128];
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  partial[threadIdx.x] = index < count ? input[index] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = partial[0];
    atomicAdd(total, partial[0]);
  }
}

// The same in dynamic shared memory, behind a static variable, with early exits before no barrier.
extern "C" __global__ void reverse(const short* input, short* output) {
  extern __shared__ short items[];
  __shared__ int last;
  if (threadIdx.x == 0) last = blockDim.x - 1;
  items[threadIdx.x] = input[threadIdx.x];
  __syncthreads();
  output[threadIdx.x] = items[last - threadIdx.x];
}
