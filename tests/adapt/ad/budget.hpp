// SPDX-License-Identifier: Apache-2.0
#pragma once
// A gradient within a budget keeps it, planning included: by operator new and by resident memory. Each measurement runs
// in a process of its own, so that no memory of an earlier one is used again.
#include "support/catch.hpp"
#include "support/heap.hpp"
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>
#include <sys/wait.h>
#include <unistd.h>
#include <cairn/adapt/ad.hpp>
#include <cairn/cairn.hpp>

namespace ad_test {

using cairn::step_index;
template <class T>
using vec = std::vector<T>;

/// Advection, in place, with no memory of its own.
struct advect {
  template <class T>
  void operator()(vec<T>& x, T const& a) const {
    T left = x[x.size() - 1];
    for (std::size_t k = 0; k < x.size(); ++k) {
      T const here = x[k];
      x[k] = here + a * (left - here) * here;
      left = here;
    }
  }
};
/// The same, recorded for each leaf.
struct advect_by_index {
  template <class T>
  void operator()(vec<T>& x, T const& a, step_index i) const {
    advect{}(x, a);
    x[0] = x[0] * (1.001 + 1e-3 * double(i % 3));  // never by 1, which is not recorded
  }
};
struct sum_of_squares {
  template <class T>
  T operator()(vec<T> const& x) const {
    T sum = 0.0;
    for (auto const& v : x) sum = sum + v * v;
    return sum;
  }
};

/// Terms of the final state, of which each takes more than a step.
struct at_the_end {
  auto operator()() const { return cairn::at_end{sum_of_squares{}}; }
};
/// Terms in one part of the loop, and of two functions, of which each takes more in other places.
struct late {
  struct sum_of_all {
    template <class T>
    T operator()(vec<T> const& x) const {
      T sum = 0.0;
      for (auto const& v : x) sum = sum + v;
      return sum;
    }
  };
  auto operator()() const {
    return cairn::at_states({300, 301, 302, 302, 377}, sum_of_squares{}) + cairn::at_every(50, sum_of_all{});
  }
};

/// A number of /proc/self/status, in bytes; 0 where there is none.
inline std::int64_t of_process(char const* key) {
  std::int64_t found = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "r"); file != nullptr) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr)
      if (std::strncmp(line, key, std::strlen(key)) == 0) found = 1024 * std::atoll(line + std::strlen(key));
    std::fclose(file);
  }
  return found;
}

/// What a call has taken; `least` is the budget that an error has named.
struct taken {
  std::int64_t heap = 0, resident = 0, least = 0, step_calls = 0, leaf = 0, slots = 0;
  std::int64_t predicted = 0, predicted_tapes = 0, counted_tapes = 0;
  double value = 0;
};
/// Runs f(found) in another process.
template <class Taken = taken, class F>
Taken apart(F f) {
  Taken found;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t const child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    f(found);
    bool const written = write(ends[1], &found, sizeof found) == ssize_t(sizeof found);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  bool const read_all = read(ends[0], &found, sizeof found) == ssize_t(sizeof found);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  REQUIRE((read_all && status == 0));
  return found;
}

template <class Tape, class Model, class Terms>
class budget_case {
 public:
  /// Of 64 KiB states.
  taken within(std::int64_t bytes) const {
    return apart([this, bytes](taken& found) {
      warm_up();
      auto const x0 = start(8'192);
      if (std::FILE* file = std::fopen("/proc/self/clear_refs", "w"); file != nullptr) {
        std::fputs("5", file);  // the peak begins here
        std::fclose(file);
      }
      std::int64_t const before = of_process("VmRSS:");
      heap::mark const now;
      try {
        cairn::budget_of const budget{steps, cairn::byte_size{std::uint64_t(bytes)}};
        cairn::sweep_report report;
        auto const answer = cairn::differentiate(Tape{}, Model{}, x0, 0.01, budget, Terms{}(), report);
        found.value = answer.value;
        found.predicted = std::int64_t(report.predicted_bytes);
        found.predicted_tapes = std::int64_t(report.predicted.tapes);
        found.counted_tapes = std::int64_t(report.counted.tapes);
      } catch (cairn::infeasible_budget const& refused) {
        found.least = std::int64_t(refused.value(1).magnitude);
      }
      found.heap = std::int64_t(now.rise());
      found.resident = of_process("VmHWM:") - before;
    });
  }
  taken plan(std::int64_t bytes) const {
    return apart([bytes](taken& found) {
      auto const x0 = start(8'192);
      cairn::taped loop{Tape{}, Model{}, 0.01, Terms{}()};
      auto const chosen = cairn::plan_for(loop, x0, {steps, cairn::byte_size{std::uint64_t(bytes)}});
      found.step_calls = std::int64_t(chosen.cost.step_calls);
      found.leaf = std::int64_t(chosen.with.leaf);
      found.slots = std::int64_t(chosen.with.slots);
      found.least = std::int64_t(chosen.cost.memory_bytes);
    });
  }

 private:
  static constexpr step_index steps = 400;
  static vec<double> start(std::size_t size) {
    vec<double> x(size);
    for (std::size_t k = 0; k < size; ++k) x[k] = 1 + 0.001 * double(k % 100);
    return x;
  }
  /// The tool's own code and tables are in memory then, and those of exceptions.
  static void warm_up() {
    for (char const* budget : {"1kB", "4MB"}) try {
        (void)cairn::differentiate(Tape{}, Model{}, start(16), 0.01, cairn::budget_of{40, budget}, sum_of_squares{});
      } catch (cairn::infeasible_budget const&) {
      }
    (void)of_process("VmRSS:");
  }
};

template <class Tape, class Model, class Terms = at_the_end>
void keeps_budgets() {
  budget_case<Tape, Model, Terms> const one;
  auto const least = one.within(1'000).least;
  REQUIRE(least > 1'000'000);
  CHECK(one.within(least - 1).least == least);
  double const known = one.within(64 * least).value;
  for (double const factor : {1.0, 2.0}) {
    auto const budget = std::int64_t(double(least) * factor);
    CAPTURE(factor, budget);
    auto const found = one.within(budget);
    CHECK(found.value == known);
    CHECK(found.heap > 0);
    CHECK(found.heap <= budget);
    CHECK(found.resident <= budget);
    CHECK(found.predicted <= budget);
    CHECK(found.counted_tapes <= found.predicted_tapes);
    CHECK(double(found.predicted_tapes) <= 1.05 * double(found.counted_tapes));
  }

  std::int64_t calls = 0, leaf = 0;
  for (std::int64_t budget = least; budget < 100'000'000; budget *= 4) {
    CAPTURE(budget);
    auto const found = one.plan(budget);
    CHECK(found.least <= budget);
    CHECK((calls == 0 || found.step_calls <= calls));
    auto const again = one.plan(budget);
    CHECK((again.leaf == found.leaf && again.slots == found.slots));
    calls = found.step_calls;
    leaf = found.leaf;
  }
  // With late terms two steps of Sacado take more than a leaf of several may.
  if (std::is_same_v<Terms, at_the_end>) CHECK(leaf > 1);
}

}  // namespace ad_test
