// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file baseline.hpp  The same gradient with every pressure stored, written by hand over one flat piece of memory and
/// without cairn's sweep.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sweep.hpp"

namespace seismic {

/// Keeps one field a step, not the two of a state: neighbouring states share one.
template <class Real>
class stored_sweep {
 public:
  stored_sweep(medium<Real> const& ground, survey<Real> const& plan, std::vector<Real>& sensitivity)
      : cells_{ground.grid.cells()},
        steps_{cairn::step_index(plan.steps())},
        step_{ground, plan},
        adjoint_{ground, plan, sensitivity, 1},
        slab_(cells_ * (plan.steps() + 2)),
        bar_{silence<Real>(cells_)} {}

  double run(shot<Real> const& one) {
    step_.aim(one);
    adjoint_.aim(one);
    std::fill_n(slab_.data(), 2 * cells_, Real(0));
    for (cairn::step_index i = 0; i < steps_; ++i) step_.to(at(i - 1), at(i), at(i + 1), i);
    std::fill(bar_.before.begin(), bar_.before.end(), Real(0));
    std::fill(bar_.now.begin(), bar_.now.end(), Real(0));
    adjoint_.listen(at(steps_), bar_, steps_);
    for (auto i = steps_; i-- > 0;) adjoint_.reverse(at(i), bar_, i);
    return adjoint_.misfit();
  }
  [[nodiscard]] std::size_t slab_bytes() const noexcept { return slab_.size() * sizeof(Real); }
  [[nodiscard]] wave<Real> const& bar() const noexcept { return bar_; }

 private:
  /// The pressure of state i; that before state 0 is number -1.
  [[nodiscard]] Real* at(cairn::step_index i) noexcept { return &slab_[std::size_t(i + 1) * cells_]; }

  std::size_t cells_;
  cairn::step_index steps_;
  leap<Real> step_;
  back<Real> adjoint_;
  std::vector<Real> slab_;
  wave<Real> bar_;
};

}  // namespace seismic
