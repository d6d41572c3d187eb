// One kernel that cannot be run yet, and one that can: the first must not cost the second.
extern "C" __global__ void warpSum(int* values) {
  int value = values[threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, distance);
  }
  if (threadIdx.x == 0) values[0] = value;
}

extern "C" __global__ void doubled(int* values) { values[threadIdx.x] *= 2; }
