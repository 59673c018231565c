// SPDX-License-Identifier: Apache-2.0
#include "forward.hpp"

#include "gradient.hpp"

double forward() { return gradient_of_decay(); }
