# SPDX-License-Identifier: Apache-2.0
"""The numbers of the case of benchmarks/versus, those of fisher.hpp: Fisher's equation on a square of doubles."""
steps = {"fisher": 1_000, "fisher_small": 60}
sides = {"fisher": 256, "fisher_small": 16}
spread, growth = 0.2, 0.005
