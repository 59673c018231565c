// SPDX-License-Identifier: Apache-2.0
#include "backward.hpp"

#include "gradient.hpp"

double backward() { return gradient_of_decay(); }
