// The same on a GPU.
#include "thrust_seismic.cpp"
