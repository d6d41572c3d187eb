// Module data: constants, initialised globals, pointers to them; and an array in local memory.
__constant__ int weights[4] = {3, -5, 7, 11};
__device__ float factors[2][2] = {{1.5f, 2.5f}, {-3.0f, 0.25f}};
__device__ float* const rows[2] = {&factors[0][0], &factors[1][0]};
__device__ unsigned long long counter = 40;

extern "C" __global__ void tables(int* integers, float* floats) {
  const int i = threadIdx.x;
  integers[i] = weights[i & 3];
  floats[i] = rows[i & 1][(i >> 1) & 1];
  atomicAdd(&counter, 2ull);
}

extern "C" __global__ void localArray(const int* order, int* output) {
  int buffer[8];
#pragma unroll 1
  for (int i = 0; i < 8; i++) buffer[order[i]] = i * 10 + threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 8; i++) output[threadIdx.x * 8 + i] = buffer[i];
}
