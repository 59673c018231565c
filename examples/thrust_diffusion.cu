// SPDX-License-Identifier: Apache-2.0
// The same on a GPU.
#include "thrust_diffusion.cpp"
