// C = A * B for 8 by 8 matrices, in tiles of 4 by 4.
extern "C" __global__ void matmul(const float* a, const float* b, float* c) {
  __shared__ float tileA[4][4], tileB[4][4];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * 4 + y, column = blockIdx.x * 4 + x;
  float sum = 0.0f;
  for (int tile = 0; tile < 8; tile += 4) {
    tileA[y][x] = a[row * 8 + tile + x];
    tileB[y][x] = b[(tile + y) * 8 + column];
    __syncthreads();
    for (int k = 0; k < 4; k++) sum += tileA[y][k] * tileB[k][x];
    __syncthreads();
  }
  c[row * 8 + column] = sum;
}
