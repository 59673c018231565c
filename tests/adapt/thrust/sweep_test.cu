// SPDX-License-Identifier: Apache-2.0
// The same on Thrust's CUDA system, with steps on a stream of their own that do not wait for the host.
#include "adapt/thrust/sweep_test.cpp"
