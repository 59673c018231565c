// SPDX-License-Identifier: Apache-2.0
// What the guide's table says of an array type: gradient, bytes, budget, replay check, disk, and as parameters.
#pragma once
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>
#include <cairn/schedule/multistage.hpp>

#include "support/catch.hpp"
#include "support/counted_heap.hpp"
#include "support/temporary.hpp"

/// A copy that shares nothing.
template <class T>
[[nodiscard]] T copy_of(T const& x) {
  T copy;
  cairn::copy_state(x, copy);
  return copy;
}
/// \param make  an array of `count` doubles   \param at  at(x, k) is number k   \param count  how many there are
template <class T, class Make, class At>
void check_array_type(Make const& make, At const& at, std::size_t count) {
  constexpr int n = 30;
  auto const filled = [&](double value) {
    T x = make();
    for (std::size_t k = 0; k < count; ++k) at(x, k) = value + 1e-3 * double(k);
    return x;
  };
  T const x0 = filled(0.7), p = filled(0.9);

  // The state: x_k = sin(x_k + x_(k+1)), so that each number is followed.
  auto const advance = [&](T& x) {
    for (std::size_t k = 0; k + 1 < count; ++k) at(x, k) = std::sin(at(x, k) + at(x, k + 1));
  };
  auto const back = [&](T const& x, T& bar) {
    for (std::size_t k = count - 1; k-- > 0;) {
      double const c = at(bar, k) * std::cos(at(x, k) + at(x, k + 1));
      at(bar, k) = c;
    }
    for (std::size_t k = count - 1; k > 0; --k) at(bar, k) += at(bar, k - 1) * 0.5;
  };
  auto const loss = [&](T const& x) { return at(x, 0) + 2 * at(x, count / 2); };
  auto const loss_back = [&](T const&, T& bar) { at(bar, 0) += 1, at(bar, count / 2) += 2; };
  auto const objective = cairn::at_end(loss, loss_back);
  cairn::model const m{advance, back};

  T by_hand = filled(0);
  {
    std::vector<T> states{copy_of(x0)};
    for (int i = 0; i < n; ++i) states.push_back(copy_of(states.back())), advance(states.back());
    for (std::size_t k = 0; k < count; ++k) at(by_hand, k) = 0;
    loss_back(states.back(), by_hand);
    for (int i = n; i-- > 0;) back(states[std::size_t(i)], by_hand);
  }
  auto const is_right = [&](T const& bar) {
    bool same = true;
    for (std::size_t k = 0; k < count; ++k) same = same && at(bar, k) == at(by_hand, k);
    return same;
  };
  REQUIRE(at(by_hand, 1) != 0);

  CHECK(is_right(cairn::differentiate(m, x0, cairn::revolve{n, 4}, objective).state));
  T const again = filled(0.7);
  CHECK(at(x0, 0) == at(again, 0));  // not shared with a copy

  {  // bytes
    auto const bytes = counted_heap::held, blocks = counted_heap::blocks;
    T const copy = copy_of(x0);
    auto const taken = counted_heap::held - bytes;
    auto const rounded = 64 * (counted_heap::blocks - blocks);  // malloc rounds up, and aligns
    auto const told = cairn::bytes_of(copy) - sizeof(T);
    CHECK(told <= taken);
    CHECK(taken <= told + rounded);
  }

  CHECK(is_right(cairn::differentiate(m, x0, cairn::budget_of{n, 9 * cairn::bytes_of(x0) + 9'000}, objective).state));

  auto const checked = cairn::sweep_options{.verify = cairn::replay_check::every_step};
  CHECK(is_right(cairn::differentiate(m, x0, cairn::revolve{n, 4}, objective, checked).state));
  int calls = 0;
  auto const drifts = [&](T& x) {
    advance(x);
    if (++calls > n) at(x, count - 1) += 1e-3f;
  };
  CHECK_THROWS_AS(cairn::differentiate(cairn::model{drifts, back}, x0, cairn::revolve{n, 4}, objective, checked),
                  cairn::nondeterminism_error);

  {
    support::temporary const folder;
    cairn::disk const run{folder.run()};
    CHECK(is_right(cairn::differentiate(m, x0, cairn::multistage{n, 1, 3}, objective, run).state));
  }

  // As parameters.
  T changes = copy_of(p);
  auto const by = [&](double& x, T const& w) { x = std::sin(at(w, 0) * x) + at(w, count - 1); };
  auto const by_back = [&](double x, double& bar, T const& w, T& dw) {
    double const c = bar * std::cos(at(w, 0) * x);
    at(dw, 0) += c * x, at(dw, count - 1) += bar, bar = c * at(w, 0);
  };
  std::remove_cvref_t<decltype(at(changes, 0))> dw = 0, end = 0;
  {
    std::vector<double> states{0.3};
    for (int i = 0; i < n; ++i) states.push_back(states.back()), by(states.back(), p);
    double bar = 1;
    for (int i = n; i-- > 0;) {
      double const x = states[std::size_t(i)], c = bar * std::cos(at(p, 0) * x);
      dw += c * x, end += bar, bar = c * at(p, 0);
    }
  }
  auto const value = cairn::at_end([](double x) { return x; }, [](double, double& bar) { bar += 1; });
  auto const got = cairn::differentiate(cairn::model{by, by_back}, 0.3, p, cairn::revolve{n, 4}, value);
  CHECK(at(got.params, 0) == dw);
  CHECK(at(got.params, count - 1) == end);
  auto const meddles = [&](double& x, T const& w) { by(x, w), at(changes, count - 1) += 1e-3f; };
  CHECK_THROWS_AS(cairn::differentiate(cairn::model{meddles, by_back}, 0.3, changes, cairn::revolve{n, 4}, value),
                  cairn::invalid_call);
}
