// SPDX-License-Identifier: Apache-2.0
// Budgets of loops that run backwards in every verb and form: the heap stays below them, also if what is kept grows,
// and the bits are those of storing everything. This program counts operator new.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/value_and_gradient.hpp>
#include <cairn/run/with/hook.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments_of.hpp>
#include "support/catch.hpp"
#include "support/heap.hpp"

using cairn::segments_of;
using cairn::step_index;
using Catch::Matchers::ContainsSubstring;

namespace {

using field = std::vector<double>;
constexpr std::size_t size = 100;
constexpr step_index n = 90;
field const x0(size, 1.0), ones(size, 1.0);
double const p = 2.0;

/// Sums of small powers of two, which an inverse takes back to the bit; derivatives of nothing.
void add(field& x, double by, step_index i) {
  for (double& v : x) v += 0.25 * by * double(i % 5);
}
auto const in_place = [](field& x, double by, step_index i) { add(x, by, i); };
auto const out_of_place = [](field const& x, field& y, double by, step_index i) { y = x, add(y, by, i); };
auto const back = [](field& x, field const& strip, double by, step_index i) {
  if (strip.front() != x[0] - 0.25 * by * double(i % 5)) throw std::logic_error{"the strip of another step"};
  add(x, -by, i);
};
auto const pull = [](field const& x, field& bar, double by, double& dp, step_index) {
  for (std::size_t k = 0; k < x.size(); ++k) dp += bar[k], bar[k] *= 1 + 1e-3 * by * x[k];
};
auto const pull_end = [](field const& x, field const& x1, field& bar, double by, double& dp, step_index i) {
  pull(x, bar, by, dp, i), dp += x1[0];
};
auto const noted = cairn::hooked(pull, [](field const& x, field& bar, double, double& dp, step_index) {
  dp += x[1], bar[0] += x[0];
});
auto const height = [](field const& x, double by) { return by * x[0] * x[1]; };
auto const slope = [](field const& x, field& bar, double by, double& dp) {
  bar[0] += by * x[1], bar[1] += by * x[0], dp += x[0] * x[1];
};
auto const objective = cairn::at_every(7, height, slope) + cairn::at_end(height, slope);

/// A strip of so many numbers, by step.
struct strip_of {
  std::size_t (*numbers)(step_index);
  field operator()(field const& x, step_index i) const { return field(numbers(i), x[0]); }
};
std::size_t same(step_index) { return 5; }
std::size_t growing(step_index i) { return 5 + std::size_t(i); }
std::size_t shrinking(step_index i) { return 5 + std::size_t(n - i); }
std::size_t scattered(step_index i) { return 5 + std::size_t(i * 7919 % 60); }

/// Calls run(budget) within one that refuses, and then within larger ones. The heap stays within them, besides what is
/// the caller's: x0. Returns how many were enough.
/// \param slack  a part, or a state, shows its bytes when it is there
template <class Run>
int each_budget(Run const& run, std::size_t slack = 0, step_index steps = n) {
  std::int64_t least = 0;
  try {
    run(segments_of{steps, 1});
    FAIL("one byte is enough");
  } catch (cairn::infeasible_budget const& e) {
    CHECK_THAT(e.what(), ContainsSubstring("cairn::segments_of") && ContainsSubstring("give at least that many bytes"));
    least = std::int64_t(e.value(1).magnitude);
  }
  int whole = 0;
  for (double const times : {1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 8.0, 30.0}) {
    auto const bytes = std::int64_t(double(least) * times);
    INFO(bytes << " bytes, least " << least);
    heap::mark const heap;
    try {
      run(segments_of{steps, bytes});
      ++whole;
    } catch (cairn::infeasible_budget const& e) {
      CHECK(times < 5);
      CHECK_THAT(e.what(), ContainsSubstring("grown"));
    }
    CHECK(heap.rise() + cairn::bytes_of(x0) <= std::size_t(bytes) + slack);
  }
  return whole;
}

template <bool Terms = false, class Step, class Adjoint>
void each_verb(Step const& step, Adjoint const& adjoint, std::size_t (*numbers)(step_index), int enough) {
  double right_dp = 0;
  auto const right = cairn::gradient(step, x0, cairn::store_all(n), ones, adjoint, cairn::wrt{p, right_dp});
  auto const made = [&] {
    return cairn::model{cairn::reversible{step, strip_of{numbers}, back, {.exact = true}}, adjoint};
  };
  std::size_t const slack = numbers == same ? 0 : 600;  // what says that it does not fit, on the heap
  CHECK(each_budget([&](segments_of const& budget) {
          double dp = 0;
          auto m = made();
          auto const found = cairn::gradient(m.step, x0, budget, ones, m.adjoint, cairn::wrt{p, dp});
          CHECK(found == right);
          CHECK(dp == right_dp);
        }, slack) >= enough);
  CHECK(each_budget([&](segments_of const& budget) {
          double dp = 0;
          auto m = made();
          auto run = cairn::checkpointed_loop(m.step, x0, budget, cairn::wrt{p, dp});
          for (int again = 0; again < 2; ++again) {
            dp = 0;
            auto const found = run.reverse(ones, m.adjoint);
            CHECK(found == right);
            CHECK(dp == right_dp);
          }
        }, slack) >= enough);
  if constexpr (Terms) {
    auto const sum = cairn::differentiate(cairn::model{step, adjoint}, x0, p, cairn::store_all(n), objective);
    CHECK(each_budget([&](segments_of const& budget) {
            cairn::value_and_gradient f{made(), budget, objective};
            for (int again = 0; again < 2; ++again) {
              auto const& found = f(x0, p);
              CHECK(found.state == sum.state);
              CHECK(found.params == sum.params);
              CHECK(found.value == sum.value);
            }
          }, slack + 1'300) >= enough);  // its workspace and result themselves are on the heap
  }
}

}  // namespace

TEST_CASE("a budget of segments is kept by each verb and form, with terms and hooks", "[reversible]") {
  each_verb<true>(in_place, noted, same, 8);
  each_verb(out_of_place, pull, same, 8);
}
TEST_CASE("a budget of segments counts what an adjoint with the state after the step takes", "[reversible]") {
  each_verb(in_place, pull_end, same, 8);
}
TEST_CASE("kept parts that grow are within the budget, or end the sweep before one part is beyond it", "[reversible]") {
  each_verb<true>(in_place, noted, growing, 5);
  each_verb(out_of_place, pull, shrinking, 5);
  each_verb(in_place, pull_end, scattered, 5);
}

TEST_CASE("what a budget has no room for is made again by the steps, and nothing if there is room", "[reversible]") {
  cairn::reversal_report report;
  auto m = cairn::model{cairn::reversible{in_place, strip_of{growing}, back, {.exact = true, .report = &report}}, pull};
  double dp = 0;
  cairn::wide before = ~cairn::wide{0};
  for (std::int64_t const bytes : {12'000, 16'000, 24'000, 40'000, 100'000}) {
    (void)cairn::gradient(m.step, x0, segments_of{n, bytes}, ones, m.adjoint, cairn::wrt{p, dp});
    CHECK(report.steps_back == n);
    CHECK(report.steps_again <= before);
    before = report.steps_again;
  }
  CHECK(before == 0);
  (void)cairn::gradient(m.step, x0, segments_of{n, 12'000}, ones, m.adjoint, cairn::wrt{p, dp});
  CHECK(report.segments > 2);
  (void)cairn::gradient(m.step, x0, cairn::segments{n}, ones, m.adjoint, cairn::wrt{p, dp});  // that budget is gone
  CHECK(report.segments == 1);
  CHECK(report.steps_again == 0);
}

TEST_CASE("a keep that writes its strip to a file holds the place, and no step runs again", "[reversible]") {
  static constexpr std::size_t strip = 80;
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  auto const keep = [file](field const& x, step_index i) {
    std::fseek(file, long(i) * long(strip * sizeof(double)), SEEK_SET);
    CHECK(std::fwrite(x.data(), sizeof(double), strip, file) == strip);
    return i;
  };
  auto const undo = [file](field& x, step_index at, double by, step_index i) {
    field from(strip);
    std::fseek(file, long(at) * long(strip * sizeof(double)), SEEK_SET);
    CHECK(std::fread(from.data(), sizeof(double), strip, file) == strip);
    back(x, from, by, i);
  };
  cairn::reversal_report report;
  auto m = cairn::model{cairn::reversible{in_place, keep, undo, {.exact = true, .report = &report}}, pull};
  double dp = 0, right_dp = 0;
  auto const right = cairn::gradient(in_place, x0, cairn::store_all(n), ones, pull, cairn::wrt{p, right_dp});
  auto const found = cairn::gradient(m.step, x0, segments_of{n, 8'000}, ones, m.adjoint, cairn::wrt{p, dp});
  std::fclose(file);
  CHECK(found == right);
  CHECK(dp == right_dp);
  CHECK(report.steps_again == 0);
  CHECK(report.kept_bytes == n * sizeof(step_index));
}

TEST_CASE("an inverse that is wrong is found where only some parts have room", "[reversible]") {
  auto const wrong = [](field& x, field const& strip, double by, step_index i) {
    back(x, strip, by, i);
    if (i == 60) x[7] += 0.5;
  };
  auto m = cairn::model{cairn::reversible{in_place, strip_of{growing}, wrong}, pull};
  double dp = 0;
  for (std::int64_t const bytes : {12'000, 16'000, 24'000, 100'000})
    try {
      (void)cairn::gradient(m.step, x0, segments_of{n, bytes}, ones, m.adjoint, cairn::wrt{p, dp});
      FAIL("not found");
    } catch (cairn::reversal_error const& e) {
      CHECK(e.state <= 60);
      CHECK(e.last > 60);
      CHECK(e.number == 7);
    }
}

TEST_CASE("a budget of segments of no step, one and two", "[reversible]") {
  for (step_index const steps : {0, 1, 2, 3}) {
    double dp = 0, right_dp = 0;
    auto const right = cairn::gradient(in_place, x0, cairn::store_all(steps), ones, pull, cairn::wrt{p, right_dp});
    CHECK(each_budget([&](segments_of const& budget) {
            auto m = cairn::model{cairn::reversible{in_place, strip_of{same}, back, {.exact = true}}, pull};
            auto const found = cairn::gradient(m.step, x0, budget, ones, m.adjoint, cairn::wrt{p, dp});
            CHECK(found == right);
            CHECK(dp == right_dp);
          }, 0, steps) == 8);
  }
  double dp = 0;
  CHECK_THROWS_AS(cairn::gradient(in_place, x0, segments_of{-1, "1MB"}, ones, pull, cairn::wrt{p, dp}),
                  cairn::invalid_plan);
}

namespace {
/// A solver that stays where it is.
struct solver {
  field v = x0;
  solver() = default;
  solver(solver const&) = delete;
  [[nodiscard]] field save() const { return v; }
  void restore(field const& snapshot) { v = snapshot; }
};
}  // namespace

TEST_CASE("a budget of segments counts the snapshots of an object", "[reversible]") {
  auto const step = [](solver& x, step_index i) { add(x.v, p, i); };
  auto const keep = [](solver const& x, step_index i) { return field(growing(i), x.v[0]); };
  auto const undo = [](solver& x, field const& strip, step_index i) { back(x.v, strip, p, i); };
  auto const each = [&](auto const& adjoint) {
    solver first;
    auto const right = cairn::gradient(step, first, cairn::store_all(n), ones, adjoint);
    std::size_t const own = 2 * cairn::bytes_of(x0);  // the object is the caller's; a plan counts no initial state
    CHECK(each_budget([&](segments_of const& budget) {
            solver x;
            auto m = cairn::model{cairn::reversible{step, keep, undo, {.exact = true}}, adjoint};
            auto const found = cairn::gradient(m.step, x, budget, ones, m.adjoint);
            CHECK(found == right);
          }, own + 600) >= 5);
  };
  double unused = 0;
  each([&](solver const& x, field& bar, step_index i) { pull(x.v, bar, p, unused, i); });
  each([&](solver& x, field& bar, step_index i) { pull(x.v, bar, p, unused, i), x.v.assign(size, 7.0); });
}
