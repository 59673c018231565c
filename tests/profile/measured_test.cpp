// SPDX-License-Identifier: Apache-2.0
// A budget whose plan is measured: growing states and tapes stay within it, and a probe leaves no trace.
#include <cmath>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/profile/measured.hpp>
#include "support/catch.hpp"
#include "adapt/threads/ahead.hpp"
#include "support/heap.hpp"

using cairn::step_index;

namespace {

using vec = std::vector<double>;
long long calls = 0;

// A tape that holds the state three times.
struct tape {
  vec before, again, once_more;
  [[nodiscard]] std::size_t bytes() const { return sizeof(*this) + 8 * (before.capacity() + again.capacity() + once_more.capacity()); }
};
auto const record = [](vec& x, double p) {
  ++calls;
  tape kept{x, x, x};
  for (double& v : x) v = std::sin(p * v);
  return kept;
};
auto const reverse = [](tape const& kept, vec& bar, double p, double& dp) {
  for (std::size_t k = 0; k < bar.size(); ++k) {
    double const c = bar[k] * std::cos(p * kept.before[k]);
    dp += c * kept.before[k];
    bar[k] = c * p;
  }
};
auto const step = [](vec& x, double p) {
  ++calls;
  for (double& v : x) v = std::sin(p * v);
};
auto const f = [](vec const& x) { return x[0]; };
auto const df = [](vec const&, vec& bar) { bar[0] += 1; };

}  // namespace

TEST_CASE("a measured budget keeps tapes within its bytes, and costs a sixteenth of the steps") {
  step_index const n = 160;
  vec const x0(500, 0.5);
  cairn::model const m{step, cairn::recorded{record, reverse}};
  auto const objective = cairn::at_end(f, df);
  auto const right = cairn::differentiate(m, x0, 0.9, cairn::store_all(n), objective);
  for (long long const bytes : {60'000, 150'000, 600'000, 4'000'000}) {
    calls = 0;
    cairn::sweep_report report;
    heap::mark const heap;
    auto const found = cairn::differentiate(m, x0, 0.9, cairn::measured{{n, bytes}}, objective, report);
    CHECK((long long)(heap.rise() + cairn::bytes_of(x0)) <= bytes);
    CHECK(found.state == right.state);
    CHECK(found.params == right.params);
    CHECK(calls == (long long)report.step_calls + n / 16);
  }
}

TEST_CASE("a probe adds nothing to the caller's sum") {
  double dp = 0, again = 0;
  double const p = 0.9;
  vec const x0(5, 0.5), seed(5, 1.0);
  cairn::recorded const adjoint{record, reverse};
  (void)cairn::gradient(step, x0, cairn::measured{{40, "1MB"}}, seed, adjoint, cairn::wrt{p, dp});
  (void)cairn::gradient(step, x0, cairn::store_all(40), seed, adjoint, cairn::wrt{p, again});
  CHECK(dp == again);
}

TEST_CASE("measured plans are the same from run to run") {
  vec const x0(50, 0.5), seed(50, 1.0);
  auto const back = [](vec const&, vec& bar) { for (double& v : bar) v *= 0.5; };
  auto const go = [](vec& x) { for (double& v : x) v *= 0.5; };
  cairn::sweep_report first, second;
  (void)cairn::gradient(go, x0, cairn::measured{{300, "20kB"}}, seed, back, first);
  (void)cairn::gradient(go, x0, cairn::measured{{300, "20kB"}}, seed, back, second);
  CHECK(first.slots == second.slots);
  CHECK(bool(first.step_calls == second.step_calls));
}

TEST_CASE("a measured budget holds the states of a helper, too, also where states grow beyond what it saw") {
  static step_index last;  // the state grows in every eighth step up to this one
  auto const step = cairn::concurrent([](vec& x, step_index i) {
    for (double& v : x) v = std::sin(0.9 * v);
    if (i % 8 == 7 && i < last) x.push_back(0.1);
  });
  auto const adjoint = [](vec const& x, vec& bar, step_index i) {
    if (i % 8 == 7 && i < last) bar.pop_back();
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] *= 0.9 * std::cos(0.9 * x[k]);
  };
  auto const with = [&](auto const& plan, auto&&... more) {
    return cairn::gradient(step, vec(20, 0.5), plan, [](vec const& x) { return vec(x.size(), 1.0); }, adjoint, more...);
  };
  int helped = 0, recalled = 0;
  for (step_index const grows : {0, 400})
    for (long long const bytes : {12'000, 25'000, 40'000, 100'000, 1'000'000}) {
      CAPTURE(grows, bytes);
      last = grows;
      cairn::sweep_report report;
      CHECK(with(cairn::measured{{400, bytes}}, report, ahead::eager{.adjoint_over_step = 3}) == with(cairn::store_all(400)));
      CHECK(report.predicted_bytes <= cairn::wide(bytes));
      CHECK(report.counted.total() <= cairn::wide(bytes));
      std::string const serial = report.serial != nullptr ? report.serial : "";
      helped += serial.empty(), recalled += serial == "what has grown leaves no room for states ahead within the budget";
      CHECK((report.step_calls > 400 || !serial.empty()));
    }
  CHECK(helped > 1);
  CHECK(recalled > 1);
}
