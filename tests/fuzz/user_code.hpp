// SPDX-License-Identifier: Apache-2.0
// What users hand to the library, for states of any type: steps, adjoints and seeds in every form, which count their
// calls and may throw. A state is read as flat numbers and written from them; all of it computes the same.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <cairn/core/bytes.hpp>
#include <cairn/door/forms.hpp>
#include <cairn/run/with/hook.hpp>
#include "support/fuse.hpp"
#include "support/pendulum.hpp"

namespace fuzz {

using cairn::step_index;
using numbers = std::vector<double>;

/// The loop of the program that runs: x'_k = keep x_k + mix sin(x_(k+1) + phase i), indices round the number of numbers
/// before the step.
struct law {
  double keep = 0.9, mix = 0.2, phase = 0.1;
  std::size_t size = 3;   ///< of the initial state
  bool resizes = false;   ///< each step leads to a state of another size
};
inline law the_law;
inline long step_calls = 0, seed_calls = 0;

inline std::size_t size_after(std::size_t size, step_index i) {
  return the_law.resizes ? 1 + (size * 5 + std::size_t(i) * 7) % 11 : size;
}

inline void forward(numbers const& v, numbers& v1, step_index i) {
  std::size_t const m = v.size();
  v1.resize(size_after(m, i));
  for (std::size_t k = 0; k < v1.size(); ++k)
    v1[k] = the_law.keep * v[k % m] + the_law.mix * std::sin(v[(k + 1) % m] + the_law.phase * double(i));
}
/// The adjoint has a number more than the state: a sum over all steps, in which their order and number show.
inline void pull(numbers const& v, numbers const& bar, numbers& out, step_index i) {
  std::size_t const m = v.size(), m1 = bar.size() - 1;
  out.assign(m + 1, 0);
  for (std::size_t k = 0; k < m1; ++k) {
    out[k % m] += the_law.keep * bar[k];
    out[(k + 1) % m] += the_law.mix * std::cos(v[(k + 1) % m] + the_law.phase * double(i)) * bar[k];
  }
  out[m] = 0.75 * bar[m1] + double(i % 64) + (m > 0 ? v[0] * bar[0] : 0.5);
}
inline void seed_of(numbers const& last, numbers& bar) {
  bar.resize(last.size() + 1);
  for (std::size_t k = 0; k < last.size(); ++k) bar[k] = 1 + 0.5 * last[k];
  bar.back() = 0.25;
}

/// Memory of the functions below, so that they allocate nothing of their own.
inline numbers now_numbers, next_numbers, bar_numbers, out_numbers;
constexpr double spoilt = 1e300;

// ---- Kinds of states. `blank` is a state to write to; numbers are read and written in one order.

struct of_double {
  static constexpr char const* name = "double";
  using state = double;
  using bar = std::array<double, 2>;
  static std::size_t size(std::size_t) { return 1; }
  static state blank() { return 0; }
  static void read(state x, numbers& v) { v.assign(1, x); }
  static void write(state& x, numbers const& v) { x = v[0]; }
};
struct of_floats {
  static constexpr char const* name = "vector of floats";
  using state = std::vector<float>;
  using bar = numbers;
  static std::size_t size(std::size_t wanted) { return wanted + 1; }
  static state blank() { return {}; }
  static void read(state const& x, numbers& v) { v.assign(x.begin(), x.end()); }
  static void write(state& x, numbers const& v) {
    x.resize(v.size());
    for (std::size_t k = 0; k < v.size(); ++k) x[k] = float(v[k]);
  }
};
struct of_aggregate {
  static constexpr char const* name = "aggregate";
  struct part {
    double speed;
    std::array<float, 2> angles;
  };
  struct state {
    part first;
    std::pair<double, part> second;
    std::vector<double> rest;
  };
  using bar = numbers;
  static std::size_t size(std::size_t wanted) { return wanted + 7; }
  static state blank() { return {}; }
  static void read(state const& x, numbers& v) {
    v.reserve(7 + x.rest.size());  // tapes have no byte more than their numbers
    v = {x.first.speed,         x.first.angles[0],         x.first.angles[1],        x.second.first,
         x.second.second.speed, x.second.second.angles[0], x.second.second.angles[1]};
    v.insert(v.end(), x.rest.begin(), x.rest.end());
  }
  static void write(state& x, numbers const& v) {
    x.first = {v[0], {float(v[1]), float(v[2])}};
    x.second = {v[3], {v[4], {float(v[5]), float(v[6])}}};
    x.rest.assign(v.begin() + 7, v.end());
  }
};
/// Inner containers of up to three numbers each; their number changes with every step.
struct of_nested {
  static constexpr char const* name = "nested containers that resize";
  using state = std::vector<std::vector<double>>;
  using bar = numbers;
  static constexpr bool resizes = true;
  static std::size_t size(std::size_t wanted) { return wanted + 1; }
  static state blank() { return {}; }
  static void read(state const& x, numbers& v) {
    v.clear();
    for (auto const& inner : x) v.insert(v.end(), inner.begin(), inner.end());
  }
  static void write(state& x, numbers const& v) {
    x.resize((v.size() + 2) / 3);
    for (auto& inner : x) inner.clear();
    for (std::size_t k = 0; k < v.size(); ++k) x[k / 3].push_back(v[k]);
  }
};
/// Containers in containers, optionals and variants, whose structure follows from the numbers.
struct of_structure {
  static constexpr char const* name = "structure";
  struct state {
    std::vector<double> v;
    std::optional<std::vector<std::string>> words;
    std::optional<std::optional<std::string>> nested;
    std::variant<std::monostate, std::vector<int>, std::string> either;
    std::map<int, std::vector<int>> names;
    std::vector<bool> bits;
    bool operator==(state const&) const = default;
  };
  using bar = numbers;
  static constexpr bool by_malloc = true;  // a map's bytes are not known
  static std::size_t size(std::size_t wanted) { return wanted + 1; }
  static state blank() { return {}; }
  static void read(state const& x, numbers& v) { v = x.v; }
  static void write(state& x, numbers const& v) {
    x = {};
    x.v = v;
    for (unsigned k = 0, bits = unsigned(std::int64_t(v[0] * 4096)); k < 6; ++k, bits /= 6) change(x, bits % 6);
  }
  /// Changes the structure, and no number.
  static void change(state& x, unsigned how) {
    switch (how) {
      case 0: x.words = x.words ? std::nullopt : std::optional<std::vector<std::string>>{std::in_place}; break;
      case 1:
        if (!x.words) x.words.emplace();
        if (x.words->size() % 2 == 0) x.words->emplace_back(x.words->size() / 2, 'a');
        x.words->insert(x.words->begin(), "");
        break;
      case 2:
        if (!x.nested) x.nested.emplace();
        else if (!*x.nested) x.nested->emplace();
        else x.nested.reset();
        break;
      case 3:
        if (x.either.index() == 0) x.either = std::vector<int>{};
        else if (x.either.index() == 1) x.either = std::string{};
        else x.either = std::monostate{};
        break;
      case 4: x.names[int(x.names.size())]; break;
      default: x.bits.push_back(false);
    }
  }
};
struct of_nothing {
  static constexpr char const* name = "empty";
  struct state {};
  using bar = numbers;
  static std::size_t size(std::size_t) { return 0; }
  static state blank() { return {}; }
  static void read(state const&, numbers& v) { v.clear(); }
  static void write(state&, numbers const&) {}
};
/// The state that the stores of the tests know, and that counts its living objects.
struct of_pendulum {
  static constexpr char const* name = "counted objects";
  using state = pendulum::state;
  using bar = numbers;
  static std::size_t size(std::size_t wanted) { return wanted + 1; }
  static state blank() { return numbers{}; }
  static void read(state const& x, numbers& v) { v = x.v; }
  static void write(state& x, numbers const& v) { x.v = v; }
};
/// Cannot be copied; saves snapshots.
struct of_solver {
  static constexpr char const* name = "save and restore";
  struct state {
    numbers v;
    state() = default;
    explicit state(numbers const& start) : v{start} {}
    state(state const&) = delete;
    state& operator=(state const&) = delete;
    [[nodiscard]] std::vector<float> save() const { return {v.begin(), v.end()}; }
    void restore(std::vector<float> const& snapshot) { v.assign(snapshot.begin(), snapshot.end()); }
  };
  using bar = numbers;
  static std::size_t size(std::size_t wanted) { return wanted + 1; }
  static state blank() { return {}; }
  static void read(state const& x, numbers& v) { v = x.v; }
  static void write(state& x, numbers const& v) {
    x.v.resize(v.size());
    for (std::size_t k = 0; k < v.size(); ++k) x.v[k] = double(float(v[k]));
  }
};

/// The same, which saves into an old snapshot, too.
struct of_resaved : of_solver {
  static constexpr char const* name = "save into an old snapshot";
  struct state : of_solver::state {
    using of_solver::state::save;
    using of_solver::state::state;
    void save(std::vector<float>& into) const { into.assign(v.begin(), v.end()); }
  };
  static state blank() { return {}; }
};

// ---- Functions on them.

template <class K>
using state_of = typename K::state;
template <class K>
using bar_of = typename K::bar;

inline void pull_bar(numbers const& v, numbers& bar, step_index i) {
  pull(v, bar, out_numbers, i);
  bar = out_numbers;
}
inline void pull_bar(numbers const& v, std::array<double, 2>& bar, step_index i) {
  bar_numbers.assign(bar.begin(), bar.end());
  pull(v, bar_numbers, out_numbers, i);
  bar = {out_numbers[0], out_numbers[1]};
}
template <class Bar>
Bar seeded(numbers const& last) {
  seed_of(last, bar_numbers);
  if constexpr (std::is_same_v<Bar, numbers>) return bar_numbers;
  else return {bar_numbers[0], bar_numbers[1]};
}

/// May throw in the middle, when the state is spoilt.
template <class K>
void advance(state_of<K>& x, numbers const& before, step_index i) {
  ++step_calls;
  if (the_fuse.armed()) {
    next_numbers.assign(before.size(), spoilt);
    if (!before.empty()) K::write(x, next_numbers);
    the_fuse.pass(site::step, i);
  }
  forward(before, next_numbers, i);
  K::write(x, next_numbers);
}
struct in_place {
  static constexpr char const* name = "in place";
  template <class K>
  struct step {
    void operator()(state_of<K>& x, step_index i) const {
      K::read(x, now_numbers);
      advance<K>(x, now_numbers, i);
    }
  };
};
struct by_value {
  static constexpr char const* name = "by value";
  template <class K>
  struct step {
    state_of<K> operator()(state_of<K> const& x, step_index i) const {
      state_of<K> x1 = K::blank();
      K::read(x, now_numbers);
      advance<K>(x1, now_numbers, i);
      return x1;
    }
  };
};
struct out_of_place {
  static constexpr char const* name = "out of place";
  template <class K>
  struct step {
    void operator()(state_of<K> const& x, state_of<K>& x1, step_index i) const {
      K::read(x, now_numbers);
      advance<K>(x1, now_numbers, i);
    }
  };
};

struct one_step {
  static constexpr char const* name = "one step";
  template <class K>
  struct adjoint {
    void operator()(state_of<K> const& x, bar_of<K>& bar, step_index i) const {
      if (the_fuse.armed()) {
        auto const kept = std::exchange(bar[0], spoilt);
        the_fuse.pass(site::adjoint, i);
        bar[0] = kept;
      }
      K::read(x, now_numbers);
      pull_bar(now_numbers, bar, i);
    }
  };
  template <class K> static adjoint<K> make() { return {}; }
};
struct one_step_by_value {
  static constexpr char const* name = "one step by value";
  template <class K>
  struct adjoint {
    bar_of<K> operator()(state_of<K> const& x, bar_of<K> const& bar, step_index i) const {
      the_fuse.pass(site::adjoint, i);
      auto out = bar;
      K::read(x, now_numbers);
      pull_bar(now_numbers, out, i);
      return out;
    }
  };
  template <class K> static adjoint<K> make() { return {}; }
};
/// Spoils bar where x1 is not the state after x.
struct with_next {
  static constexpr char const* name = "with next";
  template <class K>
  struct adjoint {
    void operator()(state_of<K> const& x, state_of<K> const& x1, bar_of<K>& bar, step_index i) const {
      K::read(x, now_numbers);
      forward(now_numbers, next_numbers, i);
      auto expected = K::blank();
      K::write(expected, next_numbers);
      K::read(expected, next_numbers);
      K::read(x1, bar_numbers);
      if (next_numbers != bar_numbers) bar[0] = std::numeric_limits<double>::quiet_NaN();
      one_step::adjoint<K>{}(x, bar, i);
    }
  };
  template <class K> static adjoint<K> make() { return {}; }
};
struct of_leaf {
  static constexpr char const* name = "leaf";
  template <class K>
  struct adjoint {
    void operator()(state_of<K> const& x, bar_of<K>& bar, step_index first, step_index last) const {
      the_fuse.pass(site::adjoint, first);
      static std::vector<numbers> inside;
      std::size_t const count = std::size_t(last - first);
      if (inside.size() < count) inside.resize(count);
      K::read(x, inside[0]);
      if (count > 1) {
        auto at = K::blank();
        for (std::size_t k = 1; k < count; ++k) {
          forward(inside[k - 1], next_numbers, first + step_index(k) - 1);
          K::write(at, next_numbers);
          K::read(at, inside[k]);
        }
      }
      for (std::size_t k = count; k-- > 0;) pull_bar(inside[k], bar, first + step_index(k));
    }
  };
  template <class K> static adjoint<K> make() { return {}; }
};
/// Leaves an object in no state of its loop.
template <class Form>
struct moving {
  static inline std::string const told = std::string{Form::name} + ", moving the object";
  static inline char const* const name = told.c_str();
  template <class K>
  struct adjoint {
    template <class... Index>
    void call(state_of<K>& x, bar_of<K>& bar, Index... i) const {
      typename Form::template adjoint<K>{}(x, bar, i...);
      for (double& v : x.v) v = spoilt;
    }
    void operator()(state_of<K>& x, bar_of<K>& bar, step_index i) const
      requires std::is_same_v<Form, one_step>
    { call(x, bar, i); }
    void operator()(state_of<K>& x, bar_of<K>& bar, step_index first, step_index last) const
      requires std::is_same_v<Form, of_leaf>
    { call(x, bar, first, last); }
  };
  template <class K> static adjoint<K> make() { return {}; }
};
/// Its destructor is out of line for g++, which at -O1 warns of what an empty std::optional would destroy.
struct tape {
  numbers before, after;
  step_index i = -1;
  [[gnu::noinline]] ~tape() {}
};
template <class K>
struct recorder {
  tape operator()(state_of<K>& x, step_index i) const {
    tape kept;
    K::read(x, kept.before);
    advance<K>(x, kept.before, i);
    K::read(x, kept.after);
    kept.i = i;
    return kept;
  }
};
template <class K>
struct of_tape {
  void operator()(tape const& kept, bar_of<K>& bar) const {
    the_fuse.pass(site::adjoint, kept.i);
    pull_bar(kept.before, bar, kept.i);
  }
};
struct recorded {
  static constexpr char const* name = "recorded";
  template <class K> static auto make() { return cairn::recorded{recorder<K>{}, of_tape<K>{}}; }
};
struct recorded_restarting {
  static constexpr char const* name = "recorded, with restart";
  template <class K>
  static auto make() {
    return cairn::recorded{recorder<K>{}, of_tape<K>{}, [](tape const& kept) {
                             if constexpr (!std::is_copy_constructible_v<state_of<K>>)
                               return std::vector<float>(kept.after.begin(), kept.after.end());
                             else {
                               state_of<K> x = K::blank();
                               K::write(x, kept.after);
                               return x;
                             }
                           }};
  }
};

template <class K>
struct seed_function {
  bar_of<K> operator()(state_of<K> const& last) const {
    ++seed_calls;
    the_fuse.pass(site::seed);
    K::read(last, now_numbers);
    return seeded<bar_of<K>>(now_numbers);
  }
};

// ---- The oracle: every state is kept, nothing of the library is used.

template <class K>
struct stored {
  std::vector<numbers> states;
  bar_of<K> seed, gradient;

  explicit stored(step_index n, numbers const& start) {
    auto x = K::blank();
    K::write(x, start);
    states.emplace_back();
    K::read(x, states.back());
    for (step_index i = 0; i < n; ++i) {
      numbers next;
      forward(states.back(), next, i);
      K::write(x, next);
      states.emplace_back();
      K::read(x, states.back());
    }
    seed = gradient = seeded<bar_of<K>>(states.back());
    for (step_index i = n; i-- > 0;) pull_bar(states[std::size_t(i)], gradient, i);
  }
};

}  // namespace fuzz
