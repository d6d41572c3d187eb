// Parameters by value: a structure with every alignment, between scalars of every size.
struct Settings {
  char tag;
  short step;
  int2 corner;
  double scale;
  float4 color;
};

extern "C" __global__ void structure(unsigned char flag, Settings settings, short bias, double* output) {
  output[0] = flag;
  output[1] = settings.tag;
  output[2] = settings.step;
  output[3] = settings.corner.x;
  output[4] = settings.corner.y;
  output[5] = settings.scale;
  output[6] = settings.color.x;
  output[7] = settings.color.w;
  output[8] = bias;
}
