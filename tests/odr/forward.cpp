#include "forward.hpp"

#include "gradient.hpp"

double forward() { return gradient_of_decay(); }
