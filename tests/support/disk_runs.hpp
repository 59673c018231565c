// SPDX-License-Identifier: Apache-2.0
// Small loops of four kinds of states whose runs on disk are stopped, and their files.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#include <xxhash.h>
#include <cairn/cairn.hpp>
#include <cairn/planning.hpp>
#include <cairn/adapt/disk.hpp>
#include "support/temporary.hpp"

namespace disk_runs {

using cairn::step_index;

/// Calls of steps and adjoints; one of them may be the last.
inline long calls = 0, last_call = -1;
struct stopped {};
inline void call() {
  if (++calls == last_call) throw stopped{};
}

// Sizes are looked at, because a forged file may have any.

/// A vector, and parameters.
struct numbers {
  using state = std::vector<double>;
  using start = state;
  static state first() { return {0.3, -0.7}; }
  struct step {
    void operator()(state& x, state const& p, step_index i) const {
      call();
      for (auto& v : x) v = std::sin(p[0] * v + p[1]) + 0.001 * double(i);
    }
  };
  struct adjoint {
    void operator()(state const& x, state& bar, state const& p, state& dp, step_index) const {
      call();
      for (std::size_t k = 0; k < x.size(); ++k) {
        double const c = bar.at(k) * std::cos(p[0] * x[k] + p[1]);
        dp.at(0) += c * x[k];
        dp.at(1) += c;
        bar[k] = c * p[0];
      }
    }
  };
  static auto gradient(state x, auto const& plan, auto&&... on) {
    state const p{1.1, 0.2};
    state dp;
    state bar = cairn::gradient(step{}, x, plan, state(x.size(), 1.0), adjoint{}, cairn::wrt{p, dp}, on...);
    bar.insert(bar.end(), dp.begin(), dp.end());
    return bar;
  }
  static void change(state& x) { x[0] += 0.25; }
};

/// The derivative of what the steps below do to a number, which the rest of their states decides.
inline double moved(double v, double by) { return std::sin(1.2 * v + by); }
inline double slope(double v, double by) { return 1.2 * std::cos(1.2 * v + by); }

/// A text that grows.
struct named {
  struct state {
    std::string name;
    std::vector<double> v;
  };
  using start = state;
  static state first() { return {"x", {0.3, 0.1}}; }
  struct step {
    void operator()(state& x, step_index i) const {
      call();
      for (auto& v : x.v) v = moved(v, 0.01 * double(x.name.size()));
      x.name += char('a' + i % 26);
    }
  };
  struct adjoint {
    void operator()(state const& x, std::vector<double>& bar, step_index) const {
      call();
      for (std::size_t k = 0; k < x.v.size(); ++k) bar.at(k) *= slope(x.v[k], 0.01 * double(x.name.size()));
    }
  };
  static auto gradient(state x, auto const& plan, auto&&... on) {
    return cairn::gradient(step{}, x, plan, std::vector<double>{1, 1}, adjoint{}, on...);
  }
  static void change(state& x) { x.name = "yy"; }
};

/// Bits, and a number that is there or not.
struct flags {
  struct state {
    std::vector<bool> on;
    std::optional<double> more;
    double v = 0;
    [[nodiscard]] double by() const {
      double sum = more.value_or(0.125);
      for (std::size_t k = 0; k < on.size(); ++k) sum += on[k] ? 0.01 * double(k + 1) : 0;
      return sum;
    }
  };
  using start = state;
  static state first() { return {{true, false, true}, {}, 0.4}; }
  struct step {
    void operator()(state& x, step_index i) const {
      call();
      x.v = moved(x.v, x.by());
      x.on.push_back(i % 3 == 0);
      if (i % 2 == 0) x.more = 0.1 * double(i);
      else x.more.reset();
    }
  };
  struct adjoint {
    void operator()(state const& x, double& bar, step_index) const {
      call();
      bar *= slope(x.v, x.by());
    }
  };
  static auto gradient(state x, auto const& plan, auto&&... on) {
    return std::vector<double>{cairn::gradient(step{}, x, plan, 1.0, adjoint{}, on...)};
  }
  static void change(state& x) { x.on[1] = true; }
};

/// An object, whose snapshots are vectors.
struct object {
  using start = std::vector<double>;
  class state {
   public:
    explicit state(start const& v) : v_{v} {}
    state(state const&) = delete;
    [[nodiscard]] std::vector<double> save() const { return v_; }
    void restore(std::vector<double> const& snapshot) { v_ = snapshot; }
    void write_state(auto& sink) const { cairn::write_state(v_, sink); }
    void read_state(auto& source) { cairn::read_state(v_, source); }
    void go(step_index i) {
      for (auto& v : v_) v = moved(v, 0.01 * double(i));
    }
    void back(std::vector<double>& bar, step_index i) const {
      for (std::size_t k = 0; k < v_.size(); ++k) bar.at(k) *= slope(v_[k], 0.01 * double(i));
    }

   private:
    std::vector<double> v_;
  };
  static start first() { return {0.2, 0.5, -0.1}; }
  struct step {
    void operator()(state& x, step_index i) const {
      call();
      x.go(i);
    }
  };
  struct adjoint {
    void operator()(state const& x, std::vector<double>& bar, step_index i) const {
      call();
      x.back(bar, i);
    }
  };
  static auto gradient(start const& from, auto const& plan, auto&&... on) {
    state x{from};
    return cairn::gradient(step{}, x, plan, std::vector<double>{1, 1, 1}, adjoint{}, on...);
  }
  static void change(start& x) { x[2] = 0.75; }
};

inline constexpr step_index steps = 14;
inline auto plan() { return cairn::hrevolve{steps, {{.slots = 1}, {.slots = 3, .write = 0.1, .read = 0.1}}}; }

using support::content_of;
using support::put;
using support::temporary;

using files = std::map<std::string, std::string>;

/// The files of the only run in a folder, but for its lock and what it is known by.
inline files files_of(std::string const& run) {
  files all;
  for (auto const& name : temporary::names_in(run)) {
    std::string const folder = run + '/' + name;
    for (auto const& file : temporary::names_in(folder))
      if (file != "lock" && file != "name") all[file] = content_of(folder + '/' + file);
  }
  return all;
}
/// The text of a lock with its sum.
inline std::string summed(std::string const& text) {
  char sum[20];
  (void)std::snprintf(sum, sizeof sum, " %016llx\n", static_cast<unsigned long long>(XXH64(text.data(), text.size(), 0)));
  return text + sum;
}
inline std::string only_run_in(std::string const& run) {
  auto const names = temporary::names_in(run);
  if (names.size() != 1) throw std::runtime_error{"there is not one run in " + run};
  return run + '/' + names[0];
}
/// The run's folder holds these files again, and no others.
inline void put_back(std::string const& folder, files const& all) {
  for (auto const& name : temporary::names_in(folder))
    if (name != "lock" && !all.contains(name)) temporary::remove_all(folder + '/' + name);
  for (auto const& [name, content] : all) put(folder + '/' + name, content);
}

struct outcome {
  std::vector<double> numbers;
  cairn::disk_report report;
};
template <class Kind>
outcome go_on(std::string const& run, cairn::disk_options options = {.commit_every = 2},
              typename Kind::start const& x0 = Kind::first()) {
  cairn::disk const on{run, options};
  outcome made{Kind::gradient(x0, plan(), on), {}};
  made.report = on.report();
  return made;
}
template <class Kind>
std::vector<double> right(typename Kind::start const& x0 = Kind::first()) {
  return Kind::gradient(x0, cairn::store_all(steps));
}
inline bool same(std::vector<double> const& a, std::vector<double> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}
/// Begins a run that ends by an exception at a call, and returns its files.
template <class Kind>
files stop_at(std::string const& run, long call, typename Kind::start const& x0 = Kind::first(),
              cairn::resume_rule rule = cairn::resume_rule::if_found) {
  calls = 0;
  last_call = call;
  bool ended = false;
  try {
    (void)go_on<Kind>(run, {.resume = rule, .commit_every = 2}, x0);
  } catch (stopped const&) {
    ended = true;
  }
  last_call = -1;
  if (!ended) throw std::runtime_error{"the run was not stopped"};
  return files_of(run);
}
/// The calls of a run that nothing stops.
template <class Kind>
long calls_of_all() {
  temporary const place;
  calls = 0;
  (void)go_on<Kind>(place.run());
  return calls;
}

}  // namespace disk_runs
