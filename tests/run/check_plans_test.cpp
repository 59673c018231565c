// SPDX-License-Identifier: Apache-2.0
// check_plans finds what depends on the plan, whatever a state hides, and nothing else.
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_plans.hpp>
#include "support/catch.hpp"
#include "support/pendulum.hpp"

using namespace cairn;

namespace {

constexpr step_index n = 10;
std::string const same = "cairn::check_plans: 4 plans, each run twice, give the same bits";

/// A class with a raw pointer and an implicit copy: nothing shows it.
class grid {
 public:
  explicit grid(std::vector<double>& u) : u_{u.data()}, n_{int(u.size())} {}
  void step() {
    for (int k = 0; k < n_; ++k) u_[k] = std::sin(u_[k]);
  }
  double operator[](int k) const { return u_[k]; }

 private:
  double* u_;
  int n_;
};

/// An object; what its snapshot lacks or is.
enum class keeps { all, no_speed, a_name };
template <keeps What>
struct solver {
  solver() = default;
  solver(solver const&) = delete;
  struct snapshot {
    double u, speed;
  };
  double u = 0.7, speed = 1, bar = 0;
  mutable std::map<std::string, snapshot> files;
  [[nodiscard]] auto save() const {
    if constexpr (What == keeps::a_name) return files["ck.bin"] = {u, speed}, std::string{"ck.bin"};
    else return snapshot{u, What == keeps::all ? speed : 0};
  }
  void restore(auto const& from) {
    if constexpr (What == keeps::a_name) u = files[from].u, speed = files[from].speed;
    else {
      u = from.u;
      if (What == keeps::all) speed = from.speed;
    }
  }
};
template <keeps What>
plans_report report_of() {
  solver<What> x;
  auto const step = [](auto& s) { s.u = std::sin(s.speed * s.u), s.speed *= 0.99; };
  auto const adjoint = [](solver<What> const& s, double& bar) { bar *= s.speed * std::cos(s.speed * s.u); };
  auto const report = check_plans(in_place(step), x, n, 1.0, adjoint);
  if (What == keeps::all) CHECK((x.u == 0.7 && x.speed == 1));
  return report;
}

}  // namespace

TEST_CASE("check_plans finds nothing in any form of step and adjoint that is a function of its arguments") {
  auto const check = [](auto step) {
    CHECK(check_plans(step, pendulum::start(), n, pendulum::seed, pendulum::one_step{}).text() == same);
    CHECK(check_plans(step, pendulum::start(), n, pendulum::seed, pendulum::with_next{}).text() == same);
    auto const leaf = check_plans(step, pendulum::start(), n, pendulum::seed, pendulum::leaf{});
    CHECK((leaf.passed() && leaf.plans == 5));
  };
  check(pendulum::in_place{});
  check(pendulum::by_value{});
  check(pendulum::out_of_place{});
  auto const record = [](double& x) {
    double const factor = std::cos(x);
    x = std::sin(x);
    return factor;
  };
  auto const reverse = [](double factor, double& bar) { bar *= factor; };
  CHECK(check_plans(in_place([](double& x) { x = std::sin(x); }), 0.7, n, 1.0, recorded{record, reverse}).passed());
  CHECK(report_of<keeps::all>().text() == same);
  solver<keeps::all> x;
  auto const step = [](solver<keeps::all>& s) { s.u = std::sin(s.u); };
  auto const seed = [](solver<keeps::all>& s) { s.bar = 1; };
  auto const adjoint = [](solver<keeps::all>& s, step_index) { s.bar *= std::cos(s.u), s.u = std::sin(s.u); };
  CHECK(check_plans(step, x, n, seed, adjoint, [](auto const& s) { return s.bar; }).passed());
  for (step_index const few : {0, 1, 2, 3, 4})
    CHECK(check_plans(pendulum::in_place{}, pendulum::start(), few, pendulum::seed, pendulum::leaf{}).passed());
  CHECK_THROWS_AS(check_plans(pendulum::in_place{}, pendulum::start(), -1, pendulum::seed, pendulum::leaf{}),
                  invalid_plan);
}

TEST_CASE("check_plans finds what no type and no hash shows, and names two plans") {
  std::vector<double> u{0.7, 0.4};
  auto const of_grid = check_plans(in_place([](grid& x) { x.step(); }), grid{u}, n, 1.0,
                                   [](grid const& x, double& bar) { bar *= std::cos(x[0]); });
  CHECK_FALSE(of_grid.passed());
  CHECK(of_grid.plans == 0);
  CHECK(std::string{of_grid.text()}.find("two runs of store_all differ, first in number 0: ") != std::string::npos);
  CHECK(std::string{of_grid.text()}.find("raw pointer") != std::string::npos);

  std::mt19937 random{1};
  auto const noisy = [&](double& x) { x = std::sin(x) + 1e-3 * double(random() % 7); };
  auto const adjoint = [](double x, double& bar) { bar *= std::cos(x); };
  CHECK_FALSE(check_plans(noisy, 0.7, n, 1.0, adjoint).passed());

  int calls = 0;  // counts only what a plan runs again
  std::map<step_index, double> seen;
  auto const again = [&](double& x, step_index i) { x = std::sin(x) + (seen.emplace(i, x).second ? 0 : 1e-9); };
  auto const forget = [&](double) { return seen.clear(), ++calls, 1.0; };
  auto const cleared = check_plans(again, 0.7, n, forget, [](double x, double& bar, step_index) { bar *= std::cos(x); });
  REQUIRE_FALSE(cleared.passed());
  CHECK(cleared.plans == 1);
  CHECK(std::string{cleared.text()}.find(
            "cairn::check_plans: store_all and revolve with one slot differ, first in number 0: ") == 0);

  double given = 0;
  auto const counted = check_plans([](double&) {}, 0.7, n, [&](double) { return ++given; }, [](double, double&) {});
  CHECK((counted.number == 0 && counted.first == 1 && counted.second == 2 && counted.plans == 0));
  CHECK(std::string{counted.text()}.find(
            "cairn::check_plans: two runs of store_all differ, first in number 0: 1 and 2; step, seed or") == 0);

  auto const lacking = report_of<keeps::no_speed>(), name = report_of<keeps::a_name>();
  CHECK_FALSE(lacking.passed());
  CHECK_FALSE(name.passed());
  CHECK((name.number == 0 && name.first != name.second));
}

TEST_CASE("check_plans compares what the adjoint leaves elsewhere") {
  double sum = 0;
  auto const step = [](double& x) { x = std::sin(x); };
  auto const seed = [&](double) { return sum = 0, 1.0; };
  auto const adjoint = [&](double x, double& bar) { sum += bar * x, bar *= std::cos(x); };
  auto const keeps_on = [&](double) { return 1.0; };
  CHECK(check_plans(step, 0.7, n, seed, adjoint, [&] { return sum; }).passed());
  auto const grows = check_plans(step, 0.7, n, keeps_on, adjoint, [&] { return sum; });
  CHECK((grows.first_plan == grows.second_plan && grows.first_plan == std::string{"store_all"}));
}
