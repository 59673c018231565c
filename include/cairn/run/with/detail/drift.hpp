// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file drift.hpp  The difference of two states that should be one.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/made_of.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/numbers.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/run/with/reversal_report.hpp>

namespace cairn::detail {

inline constexpr double infinite_drift = std::numeric_limits<double>::infinity();

/// No part has a `visit_numbers` of its own, which may leave numbers out: what it does not give is no number.
struct gives_all_numbers {
  template <class Part>
  static consteval ruling of() {
    using T = std::remove_const_t<Part>;
    if constexpr (traited_numbers<T> || member_numbers<T>) return ruling::no;
    else return numbers_are_listed::of<Part>();
  }
};
/// The largest number of a value, and the rounding unit of its least precise ones.
struct number_size {
  double largest = 0, unit = 0;
};
template <class T>
[[nodiscard]] number_size size_of_numbers(T const& x) {
  number_size found;
  visit_numbers(x, [&](auto const* at, std::size_t count) {
    using number_type = std::remove_cvref_t<decltype(*at)>;
    double const unit = double(std::numeric_limits<number_type>::epsilon());
    if (unit > found.unit) found.unit = unit;
    for (std::size_t k = 0; k < count; ++k) {
      double const here = double(at[k]), size = here < 0 ? -here : here;
      if (size > found.largest) found.largest = size;
    }
  });
  return found;
}

/// How much further off the states inside a segment may be than the one at its beginning. Rounding walks at random: up to
/// 2.9 times in 400 random loops.
inline constexpr double states_between = 4;

/// Where two values differ most.
struct most_different {
  double by = 0;
  std::int64_t number = -1;
  /// The drift; infinite where only the difference is not 0.
  [[nodiscard]] double over(double largest) const noexcept {
    double const drift = by > 0 ? (largest > 0 ? states_between * (by / largest) : infinite_drift) : 0;
    return drift != drift ? infinite_drift : drift;
  }
};
struct nothing_to_see {
  void operator()(std::int64_t, double) const noexcept {}
};
/// Compares numbers, and gives one value those of the other. Memory is kept from call to call.
class drift_meter {
 public:
  /// \param made  gets the numbers of `kept`   \param see  called as see(number, difference) with each that differs
  template <class T, class See = nothing_to_see>
  [[nodiscard]] most_different replace(T& made, T const& kept, See const& see = {}) {
    runs_.clear();
    visit_numbers(kept, [&](auto const* at, std::size_t count) { runs_.push_back({at, count}); });
    most_different most;
    std::size_t run = 0;
    std::int64_t number = 0;
    visit_numbers(made, [&](auto* at, std::size_t count) {
      using number_type = std::remove_cvref_t<decltype(*at)>;
      if (run >= runs_.size() || runs_[run].count != count) {
        most = {infinite_drift, number};
        run = runs_.size() + 1;
        return;
      }
      auto const* const from = static_cast<number_type const*>(runs_[run++].at);
      for (std::size_t k = 0; k < count; ++k, ++number) {
        double const by = distance(at[k], from[k]);
        if (by > 0) see(number, by);
        if (by > most.by) most = {by, number};
        at[k] = from[k];
      }
    });
    if (run != runs_.size()) most.by = infinite_drift;  // another shape
    return most;
  }

 private:
  struct number_run {
    void const* at;
    std::size_t count;
  };
  template <class Number>
  [[nodiscard]] static double distance(Number const& a, Number const& b) {
    if (a == b) return 0;
    double const by = [&] {
      if constexpr (std::is_floating_point_v<Number>) return double(a - b);
      else return double(a) - double(b);
    }();
    if (by != by) return a != a && b != b ? 0 : infinite_drift;
    return by < 0 ? -by : by;
  }
  std::vector<number_run> runs_;
};

/// Adds a figure with two digits, such as 3.4e-11.
template <std::size_t Capacity>
void add_figure(text<Capacity>& to, double figure) {
  if (!(figure <= (std::numeric_limits<double>::max)())) {
    to.add("infinity");
    return;
  }
  int power = 0;
  for (; figure >= 9.95; figure /= 10) ++power;
  for (; figure > 0 && figure < 0.995; figure *= 10) --power;
  auto const tenths = wide(figure * 10 + 0.5);
  to.add(tenths / 10).add(".").add(tenths % 10).add(power < 0 ? "e-" : "e+").add(wide(power < 0 ? -power : power));
}

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_reversal(char const* what, double drift, double allowed,
                                                                   step_index state, step_index last,
                                                                   std::int64_t number, char const* advice) {
  text<200> problem;
  problem.add(what);
  if (drift < infinite_drift) {
    problem.add(" by ");
    add_figure(problem, drift);
    problem.add(" of its largest number, and ");
    add_figure(problem, allowed);
    problem.add(" is allowed");
  }
  named_value const values[] = {{"state", state}, {"made from state", last}, {"number", number}};
  reversal_error found{"cairn::reversible", problem.c_str(), values, number >= 0 ? 3u : 2u, advice};
  found.drift = drift, found.state = state, found.last = last, found.number = number;
  throw found;
}

}  // namespace cairn::detail
