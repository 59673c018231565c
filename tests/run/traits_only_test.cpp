// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include "support/catch.hpp"

namespace traits_only_tests {

/// Movable, and copied by nothing but its traits, as a handle of a C library.
struct handle {
  std::unique_ptr<double> at = std::make_unique<double>(0);
};

}  // namespace traits_only_tests

template <>
struct cairn::state_traits<traits_only_tests::handle> {
  using handle = traits_only_tests::handle;
  static void copy(handle const& from, handle& into) {
    if (into.at == nullptr) into.at = std::make_unique<double>();
    *into.at = *from.at;
  }
  static std::size_t bytes(handle const& x) { return sizeof(handle) + (x.at == nullptr ? 0 : sizeof(double)); }
  static void visit_buffers(auto& x, auto& f) { f(x.at.get(), sizeof(double)); }
  static void visit_numbers(auto& x, auto& f) { f(x.at.get(), std::size_t{1}); }
};

namespace traits_only_tests {

using cairn::step_index;
static_assert(!std::is_copy_constructible_v<handle> && !std::is_copy_assignable_v<handle>);

constexpr step_index n = 20;
handle with(double value) {
  handle x;
  *x.at = value;
  return x;
}
auto const step = [](handle& x, step_index) { *x.at = std::sin(*x.at); };
auto const adjoint = [](handle const& x, handle& bar, step_index) { *bar.at *= std::cos(*x.at); };
/// The derivative of sin^20 at 2.1, with every state stored.
double exact() {
  std::vector<double> x{2.1};
  for (step_index i = 0; i < n; ++i) x.push_back(std::sin(x.back()));
  double bar = 1;
  for (step_index i = n; i-- > 0;) bar *= std::cos(x[std::size_t(i)]);
  return bar;
}

TEST_CASE("a state that can be moved, and copied by its traits only, goes through every verb") {
  handle const x0 = with(2.1), seed = with(1);
  cairn::revolve const plan{n, 4};
  CHECK(*cairn::gradient(step, x0, plan, seed, adjoint).at == exact());
  CHECK(*cairn::gradient(step, with(2.1), plan, with(1), adjoint).at == exact());
  CHECK(*cairn::gradient(step, x0, plan, [](handle const&) { return with(1); }, adjoint).at == exact());

  cairn::workspace<handle, cairn::revolve> work;
  for (int sweep = 0; sweep < 2; ++sweep) CHECK(*cairn::gradient(step, x0, plan, seed, adjoint, work).at == exact());
  CHECK(*cairn::gradient(step, x0, plan, seed, adjoint, cairn::sweep_options{.verify = cairn::replay_check::every_step})
             .at == exact());

  auto run = cairn::checkpointed_loop(step, x0, plan);
  CHECK(*run.reverse(seed, adjoint).at == exact());
  int calls = 0;
  auto until = cairn::checkpointed_while(step, x0, [&](handle const&) { return ++calls <= n; }, cairn::online{4});
  CHECK(*until.reverse(seed, adjoint).at == exact());
  CHECK(*x0.at == 2.1);
  CHECK(*seed.at == 1);
  CHECK(cairn::check_adjoint(step, adjoint, x0, n, seed).passed());
}

}  // namespace traits_only_tests
