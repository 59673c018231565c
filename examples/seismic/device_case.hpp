// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file device_case.hpp  One shot whose gradient a device finds, and what it must be.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>

#include "../support/difference.hpp"
#include "baseline.hpp"
#include "models.hpp"
#include "survey.hpp"
#include "sweep.hpp"

namespace seismic {

/// What a sweep over one shot finds.
struct shot_gradient {
  std::vector<double> sensitivity;  ///< the misfit's gradient with respect to courant2
  double misfit = 0;
};

/// A shot over the start model, compared with traces of the true one. In double precision.
class device_case {
 public:
  device_case(std::size_t nx, std::size_t nz, std::size_t steps)
      : grid_{nx, nz, 10, 1e-3, std::min(nx, nz) / 5}, plan_{grid_, steps, 1, 10}, ground_{grid_, start_model(grid_)},
        recorded_{record(medium<double>{grid_, true_model(grid_)}, plan_, source())} {}

  [[nodiscard]] medium<double> const& ground() const noexcept { return ground_; }
  [[nodiscard]] survey<double> const& plan() const noexcept { return plan_; }
  [[nodiscard]] traces<double> const& recorded() const noexcept { return recorded_; }
  [[nodiscard]] std::size_t source() const { return plan_.sources[0]; }
  [[nodiscard]] std::size_t cells() const noexcept { return grid_.cells(); }
  [[nodiscard]] cairn::step_index steps() const noexcept { return cairn::step_index(plan_.steps()); }

  /// With the misfit of residuals that lie as traces do, added up from the last state to the first, as the host does.
  [[nodiscard]] shot_gradient with_misfit(std::vector<double> sensitivity, traces<double> const& residuals) const {
    shot_gradient found{std::move(sensitivity)};
    auto const count = plan_.receivers.size();
    for (std::size_t i = plan_.steps(); i-- > 0;)
      for (std::size_t r = 0; r < count; ++r) found.misfit += 0.5 * residuals[i * count + r] * residuals[i * count + r];
    return found;
  }

  /// On the host with cairn, Revolve with 12 slots, and once more with every pressure stored by hand. Prints how far
  /// each is from what was found. \returns whether neither is more than rounding
  [[nodiscard]] bool same_on_host(shot_gradient const& found) const {
    shot<double> const one{source(), &recorded_};
    shot_gradient swept{std::vector<double>(cells())}, stored = swept;
    sweeper<double> sweep{ground_, plan_, swept.sensitivity, cairn::any_schedule{cairn::revolve{steps(), 12}}};
    swept.misfit = sweep.run(one);
    stored_sweep<double> slab{ground_, plan_, stored.sensitivity};
    stored.misfit = slab.run(one);
    bool const close = differs_by_rounding("cairn on the host", found, swept);
    return differs_by_rounding("every pressure stored by hand", found, stored) && close;
  }

 private:
  static bool differs_by_rounding(char const* where, shot_gradient const& found, shot_gradient const& wanted) {
    bool const same = found.sensitivity == wanted.sensitivity && found.misfit == wanted.misfit;
    double const off = std::max(support::relative_difference(found.sensitivity, wanted.sensitivity),
                                support::relative_difference({found.misfit}, {wanted.misfit}));
    bool const close = off <= 1e-12;
    std::printf("%s: misfit %.17g, %s (largest difference %.1e)\n", where, wanted.misfit,
                same ? "the same bits" : close ? "rounded differently" : "OTHER NUMBERS", off);
    return close;
  }

  grid grid_;
  survey<double> plan_;
  medium<double> ground_;
  traces<double> recorded_;
};

}  // namespace seismic
