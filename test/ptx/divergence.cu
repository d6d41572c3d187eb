// Divergent control flow: loops of different lengths, early exit, a barrier some threads never see.
extern "C" __global__ void collatz(const unsigned* start, unsigned* steps, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned long long value = start[i];
  unsigned taken = 0;
  while (value != 1) {
    value = value & 1 ? 3 * value + 1 : value / 2;
    taken++;
  }
  steps[i] = taken;
}

extern "C" __global__ void scan(const int* input, int* output) {
  __shared__ int buffer[2][32];
  int side = 0;
  buffer[0][threadIdx.x] = input[threadIdx.x];
  for (int distance = 1; distance < blockDim.x; distance *= 2) {
    __syncthreads();
    int value = buffer[side][threadIdx.x];
    if (threadIdx.x >= distance) value += buffer[side][threadIdx.x - distance];
    side ^= 1;
    buffer[side][threadIdx.x] = value;
  }
  output[threadIdx.x] = buffer[side][threadIdx.x];
}

extern "C" __global__ void mandelbrot(const float2* points, int* counts, int limit) {
  const float2 c = points[threadIdx.x];
  float x = 0.0f, y = 0.0f;
  int n = 0;
  while (n < limit && x * x + y * y <= 4.0f) {
    const float next = x * x - y * y + c.x;
    y = 2.0f * x * y + c.y;
    x = next;
    n++;
  }
  counts[threadIdx.x] = n;
}
