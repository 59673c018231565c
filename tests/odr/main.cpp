// SPDX-License-Identifier: Apache-2.0
#include <cmath>

double forward();
double backward();

int main() { return forward() == backward() && std::abs(forward() - std::pow(0.999, 1000)) < 1e-12 ? 0 : 1; }
