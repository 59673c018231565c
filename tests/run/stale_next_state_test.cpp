// SPDX-License-Identifier: Apache-2.0
// check_adjoint finds steps (x, x1, i) that leave integers in x1, or read them.
#include <cmath>
#include <cstdint>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>
#include "support/catch.hpp"

using cairn::adjoint_fault;
using cairn::step_index;

namespace {

/// A number that is damped as often as the count says.
struct counted {
  double u = 0.7;
  std::int64_t count = 1;
};
auto const back = [](counted const& x, counted& bar) { bar.u *= std::cos(x.u) / double(x.count); };
auto check(auto step, step_index n = 8) { return cairn::check_adjoint(step, back, counted{}, n); }

}  // namespace

TEST_CASE("integers that a step leaves in x1, or adds to, are noticed at the first step at which they differ",
          "[run][check]") {
  auto right = [](counted const& x, counted& x1) { x1 = {std::sin(x.u) / double(x.count), x.count + 1}; };
  auto const good = check(right);
  INFO(good.text());
  CHECK(good.passed());

  auto adds = [](counted const& x, counted& x1) {
    x1.u = std::sin(x.u) / double(x.count);
    ++x1.count;
  };
  auto const added = check(adds);
  INFO(added.text());
  CHECK(added.fault == adjoint_fault::stale_next_state);
  CHECK(added.step == 1);
  CHECK(added.number == -1);

  auto forgets_once = [](counted const& x, counted& x1, step_index i) {
    x1.u = std::sin(x.u) / double(x.count);
    if (i != 4) x1.count = x.count + 1;
  };
  auto const forgotten = check(forgets_once);
  CHECK(forgotten.fault == adjoint_fault::stale_next_state);
  CHECK(forgotten.step == 4);
  CHECK(check(forgets_once, 4).passed());

  auto reads = [](counted const& x, counted& x1, step_index i) {
    double const by = double(i == 5 ? x1.count : x.count);
    x1 = {std::sin(x.u) / by, x.count + 1};
  };
  auto const read = check(reads);
  CHECK(read.fault == adjoint_fault::stale_next_state);
  CHECK(read.step == 5);
  CHECK(read.number == 0);
}

TEST_CASE("a step that relies on the size of x1, which is always that of x, is not accused", "[run][check]") {
  using doubles = std::vector<double>;
  auto grows = [](doubles const& x, doubles& x1) {
    for (std::size_t k = 0; k < x.size(); ++k) x1[k] = std::sin(x[k]);
    x1.resize(x.size());
    x1.push_back(0.5 * x.back());
  };
  auto adjoint = [](doubles const& x, doubles& bar) {
    bar[x.size() - 1] *= std::cos(x.back());
    bar[x.size() - 1] += 0.5 * bar[x.size()];
    bar.pop_back();
    for (std::size_t k = 0; k + 1 < x.size(); ++k) bar[k] *= std::cos(x[k]);
  };
  auto const report = cairn::check_adjoint(grows, adjoint, doubles{0.3, 0.9}, 6);
  INFO(report.text());
  CHECK(report.passed());
}
