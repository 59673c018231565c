// SPDX-License-Identifier: Apache-2.0
// Sweeps that are stopped by an exception.
#pragma once
#include "support/pendulum.hpp"
#include <cmath>
#include <cairn/core/event.hpp>

namespace stops {

struct stop {};

/// Stops a sweep before or after its k-th action.
struct stop_at {
  long left;
  void operator()(cairn::event const&) {
    if (left-- == 0) throw stop{};
  }
};

/// Steps of the pendulum that stop a forward run after so many calls, again and again, until the seed is asked for.
struct forward_stops {
  long every, left = every, calls = 0;
  bool turned = false;

  [[nodiscard]] auto step() {
    return [this](pendulum::state& x, cairn::step_index i) {
      if (!turned && left-- == 0) {
        left = every;
        throw stop{};
      }
      ++calls;
      pendulum::in_place{}(x, i);
    };
  }
  [[nodiscard]] auto seed() {
    return [this](pendulum::state const& x) {
      turned = true;
      return x.v;
    };
  }
};

/// An object that stays where it is and saves snapshots.
class solver {
 public:
  solver() = default;
  solver(solver const&) = delete;
  void advance() { u = std::sin(u); }
  [[nodiscard]] double save() const { return u; }
  void restore(double kept) { u = kept; }
  double u = 2.1;
};

}  // namespace stops
