// The same on a GPU.
#include "thrust_diffusion.cpp"
