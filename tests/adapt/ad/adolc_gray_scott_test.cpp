// SPDX-License-Identifier: Apache-2.0
// One objective object for an adjoint by hand and for one by ADOL-C, within one budget: the same gradient.
#include <cairn/adapt/ad.hpp>
#include <cairn/adapt/adolc.hpp>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_model.hpp>
#include "support/catch.hpp"
#include "support/gray_scott.hpp"

TEST_CASE("by hand and by tool a model has the same gradient to 1e-12 of its largest number") {
  auto const x0 = gray_scott::start(16);
  cairn::model const by_hand{gray_scott::step{}, gray_scott::step_back{}};
  auto const objective = cairn::at_every(10, gray_scott::misfit{});
  auto const found = cairn::check(by_hand, cairn::by_tool(cairn::adolc_tape{}, gray_scott::step{}), x0, gray_scott::at,
                                  100, objective);
  CHECK(found.value < 1e-12);
  CHECK(found.state < 1e-12);
  CHECK(found.params < 1e-12);
  CHECK(cairn::check(by_hand, x0, gray_scott::at, 30, objective).passed());
}

TEST_CASE("a model by tool keeps a budget, and gives the bits of every plan") {
  auto const x0 = gray_scott::start(16);
  auto const objective = cairn::at_every(10, gray_scott::misfit{});
  auto const all = cairn::differentiate(cairn::by_tool(cairn::adolc_tape{}, gray_scott::step{}), x0, gray_scott::at,
                                        cairn::store_all(60), objective);
  auto const few = cairn::differentiate(cairn::by_tool(cairn::adolc_tape{}, gray_scott::step{}), x0, gray_scott::at,
                                        cairn::revolve{60, 4}, objective);
  CHECK(all.value == few.value);
  CHECK(all.state == few.state);
  CHECK(all.params.feed == few.params.feed);
}

namespace {
struct shift {
  template <class T> void operator()(T& x) const { x = x * 0.5 + 1.0; }
};
}  // namespace

TEST_CASE("without parameters a model by tool has a result of two parts") {
  auto const square = []<class T>(T const& x) -> T { return x * x; };
  auto const [value, by_x0] =
      cairn::differentiate(cairn::by_tool(cairn::adolc_tape{}, shift{}), 3.0, cairn::revolve{5, 2}, square);
  double const x = 2 + 1.0 / 32;
  CHECK(value == x * x);
  CHECK(by_x0 == 2 * x / 32);
}
