// SPDX-License-Identifier: Apache-2.0
#include "adapt/disk/namesakes.hpp"

namespace namesakes {
namespace {

struct back {
  void operator()(numbers const&, numbers& bar) const { bar[0] *= 2; }
};
numbers by_closure(cairn::disk const& run) {
  return gradient_by([](numbers const&, numbers& bar) { bar[0] *= 4; }, run);
}
struct state {
  numbers u;
  void back(numbers& bar) const { bar[0] *= 8; }
};

}  // namespace

numbers by_class_elsewhere(cairn::disk const& run) { return gradient_by(back{}, run); }
numbers by_closure_elsewhere(cairn::disk const& run) { return by_closure(run); }
numbers by_state_elsewhere(cairn::disk const& run) { return gradient_of_members<state>(run); }
numbers by_stages_elsewhere(cairn::disk const& run) { return gradient_of_stages<state>(run); }

}  // namespace namesakes
