// SPDX-License-Identifier: Apache-2.0
// Functions of two source files whose types have the same names, under a name of the code.
#include <cmath>
#include "adapt/disk/namesakes.hpp"
#include "support/catch.hpp"
#include "support/temporary.hpp"

namespace namesakes {
namespace {

struct back {
  void operator()(numbers const&, numbers& bar) const { bar[0] *= 1.01; }
};
numbers by_closure(cairn::disk const& run) {
  return gradient_by([](numbers const&, numbers& bar) { bar[0] *= 1.02; }, run);
}
struct state {
  numbers u;
  void back(numbers& bar) const { bar[0] *= 1.04; }
};
struct back_of_this_file {
  void operator()(numbers const&, numbers& bar) const { bar[0] *= 1.03; }
};
numbers const twos{std::pow(2.0, 20)}, fours{std::pow(4.0, 20)}, eights{std::pow(8.0, 20)};

/// One run is finished; then comes the other one, and then each again.
void are_two_runs(auto const& here, auto const& elsewhere, numbers const& elsewhere_right) {
  for (char const* const code : {"", "version 1"}) {
    CAPTURE(code);
    support::temporary const place;
    cairn::disk const run{place.run(), {.code = code}};
    numbers const found = here(run);
    CHECK(elsewhere(run) == elsewhere_right);
    CHECK_FALSE(run.report().finished);
    CHECK(here(run) == found);
    CHECK(run.report().finished);
    CHECK(elsewhere(run) == elsewhere_right);
    CHECK(run.report().finished);
  }
}

TEST_CASE("functions of two source files whose types have one name are two, also under a name of the code", "[disk]") {
  are_two_runs([](cairn::disk const& run) { return gradient_by(back{}, run); }, by_class_elsewhere, twos);
  are_two_runs(by_closure, by_closure_elsewhere, fours);
  are_two_runs(gradient_of_members<state>, by_state_elsewhere, eights);
  are_two_runs(gradient_of_stages<state>, by_stages_elsewhere, {std::pow(8.0, 4)});
}
TEST_CASE("so are two closures of one function, which have one name without the types of the language", "[disk]") {
  auto const doubles = [](numbers const&, numbers& bar) { bar[0] *= 2; };
  auto const adds = [](numbers const&, numbers& bar) { bar[0] += 2; };
  are_two_runs([&](cairn::disk const& run) { return gradient_by(adds, run); },
               [&](cairn::disk const& run) { return gradient_by(doubles, run); }, twos);
}
TEST_CASE("only they are known by their places then", "[disk]") {
  CHECK(cairn::detail::listed<back>::type.has_namesake());
  CHECK_FALSE(cairn::detail::listed<back_of_this_file>::type.has_namesake());
  CHECK_FALSE(cairn::detail::listed<step_of_all>::type.has_namesake());  // both files have it, and it is one type
}
TEST_CASE("a type that is unloaded has its name alone no longer", "[disk]") {
  cairn::detail::listed_type const one{"a name"};
  {
    cairn::detail::listed_type const two{"a name"}, three{"another"};
    CHECK((one.has_namesake() && two.has_namesake() && !three.has_namesake()));
  }
  CHECK_FALSE(one.has_namesake());
}

}  // namespace
}  // namespace namesakes
