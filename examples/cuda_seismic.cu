// The same on a GPU.
#include "cuda_seismic.cpp"
