// SPDX-License-Identifier: Apache-2.0
// An object that stays in place. Included within a namespace, so without #pragma once and without headers.
struct solver {
  double x = 1;
  solver() = default;
  solver(solver const&) = delete;
  double save() const { return x; }
  void restore(double kept) { x = kept; }
};
