// SPDX-License-Identifier: Apache-2.0
// Budgets of loops that run backwards: kept on the heap, planned as `segments_within` plans. This program counts operator
// new.
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/plan/loop/segments_within.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments_of.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"

using cairn::segments_of;
using cairn::step_index;

namespace {

struct springs {
  std::vector<double> at, speed;
  friend bool operator==(springs const&, springs const&) = default;
};
void step(springs& x, double const& g) {
  for (std::size_t k = 0; k < x.at.size(); ++k) x.speed[k] -= 0.01 * g * std::sin(x.at[k]), x.at[k] += 0.01 * x.speed[k];
}
void back(springs& x, std::vector<double> const&, double const& g) {
  for (std::size_t k = 0; k < x.at.size(); ++k) x.at[k] -= 0.01 * x.speed[k], x.speed[k] += 0.01 * g * std::sin(x.at[k]);
}
void adjoint(springs const& x, springs& bar, double const& g, double& dg) {
  for (std::size_t k = 0; k < x.at.size(); ++k) {
    bar.speed[k] += 0.01 * bar.at[k];
    bar.at[k] -= 0.01 * g * std::cos(x.at[k]) * bar.speed[k];
    dg -= 0.01 * std::sin(x.at[k]) * bar.speed[k];
  }
}
auto const height = [](springs const& x, double const&) { return x.at[0] * x.at[1]; };
auto const slope = [](springs const& x, springs& bar, double const&, double&) {
  bar.at[0] += x.at[1], bar.at[1] += x.at[0];
};

}  // namespace

TEST_CASE("a budget of a loop that runs backwards is kept, and more bytes never run more steps", "[reversible]") {
  std::mt19937 draw{11};
  auto const objective = cairn::at_every(7, height, slope) + cairn::at_end(height, slope);
  for (int k = 0; k < 12; ++k) {
    auto const n = step_index(1 + draw() % 200);
    std::size_t const size = 20 + draw() % 300, strip = draw() % 8;
    auto const longest = k % 3 == 0 ? step_index(2 + draw() % 30) : step_index{0};
    springs const x0{std::vector<double>(size, 0.3), std::vector<double>(size, 0.1)};
    auto const keep = [strip](springs const& x) { return std::vector<double>(x.at.begin(), x.at.begin() + long(strip)); };
    cairn::model const plain{&step, &adjoint};
    auto const stored = cairn::differentiate(plain, x0, 2.0, cairn::store_all(n), objective);
    std::int64_t least = 0;
    try {
      (void)cairn::differentiate(cairn::model{cairn::reversible{&step, keep, &back}, &adjoint}, x0, 2.0,
                                 segments_of{n, 1, longest}, objective);
      FAIL("one byte is enough");
    } catch (cairn::infeasible_budget const& e) {
      least = std::int64_t(e.value(1).magnitude);
    }
    cairn::wide before = ~cairn::wide{0};
    for (double const times : {1.0, 1.3, 2.0, 5.0, 30.0}) {
      segments_of const budget{n, std::int64_t(double(least) * times), longest};
      INFO("case " << k << ": " << n << " steps, " << size << " springs, strip " << strip << ", budget "
                   << budget.bytes.count() << " of least " << least);
      cairn::reversal_report report;
      cairn::sweep_report told;
      cairn::model const m{cairn::reversible{&step, keep, &back, {.drift = 1e-9, .report = &report}}, &adjoint};
      heap::mark const heap;
      auto const found = cairn::differentiate(m, x0, 2.0, budget, objective, told);
      CHECK(heap.rise() + 2 * size * sizeof(double) + sizeof x0 <= std::size_t(budget.bytes.count()));
      CHECK(told.predicted_bytes <= cairn::wide(budget.bytes.count()));
      CHECK(found.value == stored.value);
      CHECK(found.params == Approx(stored.params).epsilon(1e-9));
      cairn::wide const ran = told.step_calls + report.steps_again;
      CHECK(ran <= before);
      before = ran;
      cairn::workload const work{.steps = n,
                                 .state_bytes = cairn::bytes_of(x0),
                                 .params_bytes = sizeof(double),
                                 .gradient_bytes = sizeof(double),
                                 .reversible = cairn::reversible_costs{.kept_bytes = 24 + 8 * strip, .longest = longest}};
      auto const within = [&](cairn::byte_size bytes) {
        auto const cost = cairn::segments_within(bytes, work).cost;
        return cost.step_calls + cost.steps_again;
      };
      CHECK(ran >= within(budget.bytes));
      auto const less = cairn::byte_size{budget.bytes.count() - 320};  // than what the model itself holds
      if (times > 1.2) CHECK(ran <= within(less));
    }
  }
}

TEST_CASE("what keep returns must have a size, and an adjoint of one step takes no segments", "[reversible]") {
  struct hidden {
    explicit hidden(double v) : at(1, v) {}
    std::vector<double> at;
    double& front() { return at[0]; }
    int flag = 0;
  };
  auto const keep = [](double x) { return hidden{x}; };
  auto const back = [](double& x, hidden const& from) { x = from.at[0]; };
  cairn::model const m{cairn::reversible{[](double& x) { x = std::sin(x); }, keep, back},
                       [](double x, double& bar) { bar *= std::cos(x); }};
  auto const last = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
  if constexpr (!cairn::sized_state<hidden>)
    CHECK_THROWS_AS(cairn::differentiate(m, 0.3, segments_of{50, "1MB"}, last), cairn::invalid_call);
  CHECK_THROWS_AS(cairn::differentiate(cairn::model{[](double& x) { x = std::sin(x); },
                                                    [](double x, double& bar) { bar *= std::cos(x); }},
                                       0.3, segments_of{50, "1MB"}, last),
                  cairn::error);
}
