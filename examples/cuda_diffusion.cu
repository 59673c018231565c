// SPDX-License-Identifier: Apache-2.0
// The same on a GPU.
#include "cuda_diffusion.cpp"
