// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file constants_search.hpp  Finds the numbers of a state that are constants of its loop, though they were not named.
#include <cstddef>
#include <utility>
#include <cairn/run/check/detail/checked_loop.hpp>
#include <cairn/run/check/detail/number_lists.hpp>
#include <cairn/schedule/detail/value_list.hpp>

namespace cairn::detail {

/// Finds numbers that an adjoint may leave alone on purpose, though others depend on them: times, step sizes,
/// coefficients. At every step of the loop
/// - the adjoint leaves them as they are, to the bit, whatever the others are, or sets each of them to 0;
/// - the step makes them only from each other, and from no differentiated number: it passes them on, adds to them an
///   amount that depends only on other constants (a time), or sets them to a value that depends only on constants.
/// Since no differentiated number flows into them, the derivatives by all other numbers do not go through them. Within
/// one array a constant and a forgotten number look the same; the caller must tell them apart: see `split`. Types that
/// choose themselves what is differentiated are trusted.
class constants_search {
 public:
  explicit constants_search(checked_loop& loop) noexcept : loop_{loop} {}

  /// Which numbers are constants with a derivative other than 0; empty if there are none. \pre the loop takes no number
  /// as a constant yet
  [[nodiscard, gnu::cold]] value_list<bool> run(unnamed_state const& x0, step_index n) {
    list_groups(x0);
    for (auto* const all : {&left_unchanged_, &left_as_0_, &left_alone_, &passes_on_, &is_set_})
      all->assign(may_be_.size(), true);
    // A number that is ruled out also rules out numbers that depend on it at earlier steps, hence several passes.
    constexpr int most_passes = 8;
    bool settled = false;
    for (int pass = 0; pass < most_passes && !settled; ++pass) {
      settled = true;
      held_state x = loop_.copy(x0);
      for (step_index i = 0; i < n; ++i) {
        auto const before = may_be_;
        if (!narrow(x, i)) return {};
        settled = settled && (i == 0 || same(may_be_, before));
      }
    }
    if (!settled || !count(may_be_)) return {};
    if (count(left_alone_) == left_alone_.size()) return {};  // an adjoint that leaves all alone proves nothing
    spare_unread(x0, n);
    if (count(may_be_) == may_be_.size()) return {};
    return may_be_;
  }
  /// Whether the constants are a part of an array, but not all of it: then a constant cannot be told from a forgotten
  /// number.
  [[nodiscard, gnu::cold]] bool split(std::size_t number) const {
    auto const [first, size] = groups_[group_of(number)];
    for (std::size_t k = first; k < first + size; ++k)
      if (!may_be_[k]) return true;
    return false;
  }

 private:
  using mask = value_list<bool>;
  struct group {
    std::size_t first, size;
  };
  [[nodiscard, gnu::cold]] static std::size_t count(mask const& all) {
    std::size_t set = 0;
    for (bool const one : all) set += one ? 1 : 0;
    return set;
  }
  [[nodiscard, gnu::cold]] std::size_t group_of(std::size_t number) const {
    std::size_t g = 0;
    while (number >= groups_[g].first + groups_[g].size) ++g;
    return g;
  }
  [[gnu::cold]] void list_groups(unnamed_state const& x0) {
    loop_.each_group(x0, [&](std::size_t size, bool asked) {
      if (size == 0) return;
      groups_.push_back({may_be_.size(), size});
      may_be_.resize(may_be_.size() + size, !asked);
    });
  }

  /// A step from x, with the data needed to vary it.
  struct one_step {
    unnamed_state const& x;
    reals from, to, scales;
    value_list<int> digits;
    step_index i;
  };
  [[nodiscard, gnu::cold]] one_step step_from(unnamed_state const& x, unnamed_state const& x1, step_index i) {
    auto const which = loop_.numbers(x);
    one_step here{x, numbers_of(which), numbers_of(loop_.numbers(x1)), scales_of(which), {}, i};
    which([&](number_run const& run) { here.digits.resize(here.digits.size() + run.count, run.kind->digits); });
    return here;
  }
  /// Keeps in `may_be_` only numbers that step i and its adjoint allow to be constants, and advances x by one step.
  /// False if none is left.
  [[nodiscard, gnu::cold]] bool narrow(held_state& x, step_index i) {
    held_state x1 = loop_.copy(*x);
    loop_.advance(*x1, i);
    auto const here = step_from(*x, *x1, i);
    if (here.to.size() != may_be_.size()) return false;
    look_at_adjoint(here, *x1);
    look_at_step(here);
    if (count(may_be_) == 0) return false;
    x = std::move(x1);
    return true;
  }

  [[gnu::cold]] void look_at_adjoint(one_step const& here, unnamed_state const& x1) {
    auto const which = loop_.numbers(x1);
    auto const scales = raised(scales_of(which), underflows_of(which), bits_of(which));
    magnitudes reach;
    for (double const scale : scales) reach.add(scale);
    auto w = loop_.random_weights(x1, scales, reach);
    w = loop_.cut(*loop_.bar_with(x1, w), w.size());
    auto const alone = loop_.pulled(here.x, x1, reals(w.size()), here.i);
    auto const keep = [&](reals const& weights) {
      auto const to = loop_.pulled(here.x, x1, weights, here.i);
      for (std::size_t k = 0; k < to.size(); ++k) {
        left_unchanged_[k] = left_unchanged_[k] && to[k] == weights[k] && alone[k] == 0;
        left_as_0_[k] = left_as_0_[k] && to[k] == 0 && alone[k] == 0;
        left_alone_[k] = left_alone_[k] && (left_unchanged_[k] || left_as_0_[k]);
        may_be_[k] = may_be_[k] && left_alone_[k];
      }
    };
    keep(w);
    for (std::size_t k = 0; k < w.size(); ++k)
      if (may_be_[k]) w[k] = 0;
    keep(w);  // beside weights of 0, small terms of the other numbers show
  }

  /// Runs the step on numbers moved by up to 2^-level of their magnitude, except those in `still`. False if the step
  /// then has more or fewer numbers.
  [[nodiscard, gnu::cold]] bool vary(one_step const& here, mask const& still, int level, reals& from,
                          reals& to) {
    from = here.from;
    for (std::size_t k = 0; k < from.size(); ++k)
      if (!still[k]) from[k] += power_of_two(-level) * here.scales[k] * loop_.random().next();
    held_state x = loop_.copy(here.x);
    set_numbers(loop_.numbers(*x), from);
    loop_.advance(*x, here.i);
    to = numbers_of(loop_.numbers(*x));
    return to.size() == here.to.size();
  }
  /// Whether the step moves number k as far as its input was moved, except for rounding.
  [[nodiscard, gnu::cold]] static bool moved_along(one_step const& here, reals const& from,
                                        reals const& to, std::size_t k) {
    double const size =
        magnitude(here.from[k]) + magnitude(from[k]) + magnitude(here.to[k]) + magnitude(to[k]);
    return magnitude((to[k] - here.to[k]) - (from[k] - here.from[k])) <= size * power_of_two(1 - here.digits[k]);
  }
  [[gnu::cold]] void look_at_step(one_step const& here) {
    int const bits = bits_of(loop_.numbers(here.x));
    reals from, to;
    mask constants(may_be_.size(), false);
    // First the constants that depend on no number; then those that depend only on these; and so on.
    for (bool more = true; more && !same(constants, may_be_);) {
      mask next = may_be_, passes_on = passes_on_, is_set = is_set_;
      for (int draw = 0; draw < 4; ++draw) {
        if (!vary(here, constants, draw % 2 == 0 ? bits / 6 : bits / 3, from, to))
          return may_be_.assign(next.size(), false);
        for (std::size_t k = 0; k < next.size(); ++k) {
          passes_on[k] = passes_on[k] && moved_along(here, from, to, k);
          is_set[k] = is_set[k] && to[k] == here.to[k];
          next[k] = next[k] && (constants[k] || passes_on[k] || is_set[k]);
        }
      }
      // While the candidates are not moved, rounding hides no change of their results.
      for (int draw = 0; draw < 2; ++draw) {
        if (!vary(here, next, bits / 6, from, to)) return may_be_.assign(next.size(), false);
        for (std::size_t k = 0; k < next.size(); ++k) next[k] = next[k] && to[k] == here.to[k];
      }
      more = false;
      for (std::size_t k = 0; k < next.size(); ++k) {
        if (!next[k] || constants[k]) continue;
        constants[k] = more = true;
        passes_on_[k] = passes_on[k];
        is_set_[k] = is_set[k];
      }
    }
    may_be_ = std::move(constants);
  }

  /// Drops candidates that no other number depends on: the adjoint handles these correctly.
  [[gnu::cold]] void spare_unread(unnamed_state const& x0, step_index n) {
    constexpr std::size_t most_units = 64;  // each costs one step at every step of the loop
    value_list<group> unread;
    for (auto const one : groups_) {
      bool fits = true, any = false;
      for (std::size_t k = one.first; k < one.first + one.size; ++k) {
        if (!may_be_[k]) continue;
        any = true;
        fits = fits && ((left_unchanged_[k] && passes_on_[k]) || (left_as_0_[k] && is_set_[k]));
      }
      if (fits && any) unread.push_back(one);
      if (unread.size() > most_units) return;
    }
    held_state x = loop_.copy(x0);
    for (step_index i = 0; i < n && !unread.empty(); ++i) {
      held_state x1 = loop_.copy(*x);
      loop_.advance(*x1, i);
      auto const here = step_from(*x, *x1, i);
      unread.remove_if([&](group const& unit) { return is_read(unit, here); });
      x = std::move(x1);
    }
    for (auto const [first, size] : unread)
      for (std::size_t k = first; k < first + size; ++k) may_be_[k] = false;
  }
  /// Whether a step changes another number if the candidates of a group are moved.
  [[nodiscard, gnu::cold]] bool is_read(group unit, one_step const& here) {
    mask still(may_be_.size(), true);
    for (std::size_t k = unit.first; k < unit.first + unit.size; ++k) still[k] = !may_be_[k];
    reals from, to;
    if (!vary(here, still, bits_of(loop_.numbers(here.x)) / 6, from, to)) return true;
    for (std::size_t k = 0; k < still.size(); ++k) {
      bool const right = !still[k] && left_unchanged_[k] && passes_on_[k] ? moved_along(here, from, to, k)
                                                                         : to[k] == here.to[k];
      if (!right) return true;
    }
    return false;
  }

  checked_loop& loop_;
  value_list<group> groups_;
  mask may_be_;                      // not ruled out so far
  mask left_unchanged_, left_as_0_;  // by the adjoint, at every step so far
  mask left_alone_;                  // one of the two
  mask passes_on_, is_set_;          // by the step: made from its own number, or from none that may be differentiated
};

}  // namespace cairn::detail
