// SPDX-License-Identifier: Apache-2.0
// What the guide's table says of a type: gradient, bytes and budget, replay check, writing, reading and disk, and as
// parameters. Each cell is right to the bit of a loop by hand, or the concept that its verb asks says no.
#pragma once
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/schedule/multistage.hpp>

#include "support/catch.hpp"
#include "support/counted_heap.hpp"
#include "support/memory_bytes.hpp"
#include "support/temporary.hpp"

/// What is known of a type. As parameters it needs numbers and a hash.
enum known : unsigned {
  numbers = 1,  ///< gradients by `differentiate`
  bytes = 2,    ///< and budgets
  hash = 4,     ///< replay checks
  written = 8,  ///< and read, and kept on disk
  shape = 16,   ///< is written, too: it is read into a new value, not only into one of the same shape
  all = 31,
};

/// A copy that shares nothing.
template <class T>
[[nodiscard]] T copy_of(T const& x) { return cairn::detail::copy_of(x); }
/// Functions of a library's numbers, of those of the language, and of _Float16, which has none.
template <class Real>
[[nodiscard]] Real sine(Real const& x) {
  using std::sin;
  if constexpr (requires { sin(x); }) return Real(sin(x));
  else return Real(sin(float(x)));
}
template <class Real>
[[nodiscard]] Real cosine(Real const& x) {
  using std::cos;
  if constexpr (requires { cos(x); }) return Real(cos(x));
  else return Real(cos(float(x)));
}
/// \param make  a T of `count` numbers   \param at  at(x, k) is number k, by reference
template <class T, unsigned Known = all, class Make, class At>
void check_array_type(Make const& make, At const& at, std::size_t count) {
  constexpr int n = 30;
  using real = std::remove_cvref_t<decltype(at(std::declval<T&>(), 0))>;
  STATIC_REQUIRE(cairn::copied_state<T>);
  STATIC_REQUIRE(cairn::numbered<T> == bool(Known & numbers));
  STATIC_REQUIRE(cairn::sized_state<T> == bool(Known & bytes));
  STATIC_REQUIRE(cairn::detail::hashable<T> == bool(Known & hash));
  STATIC_REQUIRE(cairn::written_state<T> == bool(Known & written));
  auto const filled = [&](double value) {
    T x = make();
    for (std::size_t k = 0; k < count; ++k) at(x, k) = real(value + 1e-3 * double(k));
    return x;
  };
  auto const are_equal = [&](T const& a, T const& b) {
    bool same = true;
    for (std::size_t k = 0; k < count; ++k) same = same && at(a, k) == at(b, k);
    return same;
  };
  T const x0 = filled(0.7), p = filled(0.9);
  {
    T changed = copy_of(x0);
    at(changed, count - 1) += 1;
    CHECK(are_equal(x0, filled(0.7)));  // not shared with a copy
  }

  if constexpr (Known & bytes) {
    std::size_t const held = counted_heap::held, blocks = counted_heap::blocks;
    T const copy = copy_of(x0);
    auto const taken = counted_heap::held - held;
    auto const rounded = 64 * (counted_heap::blocks - blocks);  // malloc rounds up, and aligns
    auto const told = cairn::bytes_of(copy) - sizeof(T);
    CHECK(told <= taken);
    CHECK(taken <= told + rounded);
  }
  if constexpr (Known & written) {
    std::string const text = memory_bytes::written(x0);
    T used = copy_of(p);
    CHECK(memory_bytes::read(used, text) == 0);
    CHECK(are_equal(used, x0));
    CHECK(memory_bytes::written(used) == text);
    if constexpr (std::is_default_constructible_v<T>) {
      T fresh{};
      if constexpr (Known & shape) {
        CHECK(memory_bytes::read(fresh, text) == 0);
        CHECK(are_equal(fresh, x0));
        CHECK(memory_bytes::written(fresh) == text);
      } else CHECK_THROWS_AS(memory_bytes::read(fresh, text), cairn::invalid_bytes);
    }
  }

  if constexpr (Known & numbers) {
    // x_k = sin((x_k + x_(k+1)) / 2), so that each number is followed; from a call on, the last one drifts.
    int calls = 0, most = 1 << 30;
    auto const advance = [&](T& x) {
      for (std::size_t k = 0; k < count; ++k) at(x, k) = sine(real((at(x, k) + at(x, (k + 1) % count)) / 2));
      if (++calls > most) at(x, count - 1) += real(1e-3f);
    };
    auto const back = [&](T const& x, T& bar) {
      for (std::size_t k = count; k-- > 0;)
        at(bar, k) *= cosine(real((at(x, k) + at(x, (k + 1) % count)) / 2));
      for (std::size_t k = count - 1; k > 0; --k) at(bar, k) += real(at(bar, k - 1) / 2);
    };
    auto const loss = [&](T const& x) { return double(at(x, 0)) + 2 * double(at(x, count - 1)); };
    auto const loss_back = [&](T const&, T& bar) { at(bar, 0) += 1, at(bar, count - 1) += 2; };
    auto const objective = cairn::at_end(loss, loss_back);
    cairn::model const m{advance, back};
    T by_hand = filled(0);
    {
      std::vector<T> states;
      states.reserve(n + 1);
      states.push_back(copy_of(x0));
      for (int i = 0; i < n; ++i) states.push_back(copy_of(states.back())), advance(states.back());
      for (std::size_t k = 0; k < count; ++k) at(by_hand, k) = 0;
      loss_back(states.back(), by_hand);
      for (int i = n; i-- > 0;) back(states[std::size_t(i)], by_hand);
    }
    REQUIRE(at(by_hand, count - 1) != 0);

    cairn::sweep_options checked;
    CHECK(are_equal(cairn::differentiate(m, x0, cairn::revolve{n, 4}, objective, checked).state, by_hand));
    if constexpr (Known & bytes) {
      cairn::budget_of const budget{n, 9 * cairn::bytes_of(x0) + 9'000};
      CHECK(are_equal(cairn::differentiate(m, x0, budget, objective).state, by_hand));
    }
    if constexpr (Known & hash) {
      checked.verify = cairn::replay_check::every_step;
      CHECK(are_equal(cairn::differentiate(m, x0, cairn::revolve{n, 4}, objective, checked).state, by_hand));
      calls = 0, most = n;
      CHECK_THROWS_AS(cairn::differentiate(m, x0, cairn::revolve{n, 4}, objective, checked), cairn::nondeterminism_error);
      most = 1 << 30;
    }
    if constexpr (Known & written) {
      support::temporary const folder;
      cairn::disk const run{folder.run()};
      CHECK(are_equal(cairn::differentiate(m, x0, cairn::multistage{n, 1, 3}, objective, run).state, by_hand));
    }
    CHECK(are_equal(x0, filled(0.7)));
  }

  if constexpr ((Known & numbers) && (Known & hash)) {
    T changes = copy_of(p);
    bool meddles = false;
    auto const by = [&](double& x, T const& w) {
      x = std::sin(double(at(w, 0)) * x) + double(at(w, count - 1));
      if (meddles) at(changes, count - 1) += real(1e-3f);
    };
    auto const by_back = [&](double x, double& bar, T const& w, T& dw) {
      double const c = bar * std::cos(double(at(w, 0)) * x);
      at(dw, 0) += real(c * x), at(dw, count - 1) += real(bar), bar = c * double(at(w, 0));
    };
    T dw = copy_of(p);
    for (std::size_t k = 0; k < count; ++k) at(dw, k) = 0;
    {
      std::vector<double> states{0.3};
      for (int i = 0; i < n; ++i) states.push_back(states.back()), by(states.back(), p);
      double bar = 1;
      for (int i = n; i-- > 0;) by_back(states[std::size_t(i)], bar, p, dw);
    }
    auto const value = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
    auto const run = [&] {
      return cairn::differentiate(cairn::model{by, by_back}, 0.3, changes, cairn::revolve{n, 4}, value).params;
    };
    CHECK(are_equal(run(), dw));
    meddles = true;
    CHECK_THROWS_AS(run(), cairn::invalid_call);
  }
}
