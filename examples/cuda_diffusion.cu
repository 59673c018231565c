// The same on a GPU.
#include "cuda_diffusion.cpp"
