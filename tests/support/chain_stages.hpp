// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages over vectors of different lengths, in every form in which a stage may be written, and plans for chains:
// sensible and wild ones.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <cairn/door/stage.hpp>
#include <cairn/rules/chain.hpp>

namespace chain_stages {

using vec = std::vector<double>;

/// y_k = x_i + sin(w x_j + x_i) / 10 with i = k mod n, j = (k + 1) mod n; out of line, so that every test runs the same
/// instructions.
[[gnu::noinline]] inline vec run(vec const& x, std::size_t out, double w) {
  vec y(out);
  std::size_t const n = x.size();
  for (std::size_t k = 0; k < out; ++k) y[k] = n == 0 ? w : x[k % n] + 0.1 * std::sin(w * x[(k + 1) % n] + x[k % n]);
  return y;
}
/// The adjoint of x; that of w is added to w_bar.
[[gnu::noinline]] inline vec pull(vec const& x, vec const& bar, double w, double& w_bar) {
  vec x_bar(x.size());
  std::size_t const n = x.size();
  for (std::size_t k = 0; k < bar.size(); ++k) {
    if (n > 0) {
      double const a = x[k % n], b = x[(k + 1) % n];
      double const slope = 0.1 * bar[k] * std::cos(w * b + a);
      x_bar[k % n] += bar[k] + slope;
      x_bar[(k + 1) % n] += slope * w;
      w_bar += slope * b;
    } else w_bar += bar[k];
  }
  return x_bar;
}

/// What all forms share: the length that they give, and a parameter with its derivative.
struct layer {
  std::size_t out = 1;
  double w = 0.5;
  double w_bar = 0;
  [[nodiscard]] vec forward(vec const& x) const { return run(x, out, w); }
};
struct by_value : layer {
  [[nodiscard]] vec backward(vec const& x, vec const& bar) { return pull(x, bar, w, w_bar); }
};
struct in_place : layer {
  void backward(vec const& x, vec& bar) { bar = pull(x, bar, w, w_bar); }
};
/// Spoils the result where it is not given what forward gave.
struct with_output : layer {
  [[nodiscard]] vec backward(vec const& x, vec const& y, vec&& bar) {
    return pull(x, bar, y == run(x, out, w) ? w : 1e300, w_bar);
  }
};
struct tape {
  vec output, half;  ///< half: something of a size of its own
};
struct taped : layer {
  [[nodiscard]] tape record(vec const& x) const { return {run(x, out, w), vec(out / 2, w)}; }
  [[nodiscard]] static vec const& output(tape const& kept) { return kept.output; }
  [[nodiscard]] vec backward(vec const& x, tape const& kept, vec bar) {
    return pull(x, bar, kept.half == vec(out / 2, w) && kept.output.size() == out ? w : 1e300, w_bar);
  }
};
struct whole_tape {
  vec input, output;
};
struct self_contained : layer {
  [[nodiscard]] whole_tape record(vec const& x) const { return {x, run(x, out, w)}; }
  [[nodiscard]] static vec const& output(whole_tape const& kept) { return kept.output; }
  [[nodiscard]] vec backward(whole_tape& kept, vec const& bar) {
    vec const x = std::move(kept.input);  // a tape may be used up
    return pull(x, bar, w, w_bar);
  }
};

/// Lengths 0..most of states 0..L.
inline std::vector<std::size_t> random_lengths(int stages, std::size_t most, std::mt19937_64& numbers) {
  std::vector<std::size_t> lengths;
  for (int i = 0; i <= stages; ++i) lengths.push_back(numbers() % (most + 1));
  return lengths;
}
inline double weight(std::size_t i) { return 0.3 + 0.1 * double(i % 5); }
inline vec start(std::size_t length) {
  vec x;
  x.reserve(length);  // no room to spare, which would count
  for (std::size_t k = 0; k < length; ++k) x.push_back(0.7 - 0.2 * double(k % 7));
  return x;
}
inline vec seed(vec const& x) {
  vec bar(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) bar[k] = 2 * x[k] - 0.5;
  return bar;
}

/// The adjoint of state 0 and the derivatives by the parameters, everything stored.
struct stored {
  vec gradient;
  std::vector<double> by_w;

  explicit stored(std::vector<std::size_t> const& lengths) : by_w(lengths.size() - 1) {
    std::vector<vec> states{start(lengths[0])};
    for (std::size_t i = 0; i + 1 < lengths.size(); ++i) states.push_back(run(states[i], lengths[i + 1], weight(i)));
    gradient = seed(states.back());
    for (std::size_t i = by_w.size(); i-- > 0;) gradient = pull(states[i], gradient, weight(i), by_w[i]);
  }
};

/// A vector of stages of one form.
template <class Stage>
std::vector<Stage> net(std::vector<std::size_t> const& lengths) {
  std::vector<Stage> all(lengths.size() - 1);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].out = lengths[i + 1], all[i].w = weight(i);
  return all;
}

using cairn::action;
namespace chain_actions = cairn::chain_actions;
using action_maker = action (*)(std::int64_t, cairn::tier);

/// Every action that a chain can have, of state or stage i.
inline constexpr action_maker all_actions[]{[](std::int64_t i, cairn::tier) { return chain_actions::advance(i); },
                                            [](std::int64_t i, cairn::tier) { return chain_actions::record(i); },
                                            chain_actions::drop,
                                            [](std::int64_t i, cairn::tier) { return chain_actions::drop_tape(i); },
                                            [](std::int64_t i, cairn::tier) { return chain_actions::turn(i); },
                                            [](std::int64_t i, cairn::tier) { return chain_actions::reverse(i); },
                                            chain_actions::save,
                                            chain_actions::load};

inline std::vector<action> store_all(std::int64_t stages) {
  using namespace chain_actions;
  std::vector<action> plan;
  for (std::int64_t i = 0; i < stages; ++i) plan.push_back(record(i));
  plan.push_back(turn(stages));
  for (std::int64_t i = stages; i-- > 0;) plan.push_back(reverse(i));
  return plan;
}

/// A plan that keeps a state until its adjoint is made: splits at random places.
class split_plan {
 public:
  split_plan(std::int64_t stages, std::uint64_t random_seed, bool self_contained)
      : numbers_{random_seed}, stages_{stages}, early_{self_contained} {
    reverse(0, stages);
  }
  std::vector<action> actions;

 private:
  /// State `from` is at hand, adjoint `to` + 1 is made, or is to be made by the loss.
  void reverse(std::int64_t from, std::int64_t to) {
    if (from == stages_) return actions.push_back(chain_actions::turn(from));
    if (from == to || numbers_() % 3 == 0) {
      bool const own = from > 0 && held_ == from;
      actions.push_back(chain_actions::record(from));
      bool const drops = early_ && own && numbers_() % 2 == 0;
      if (drops) actions.push_back(chain_actions::drop(from));
      std::int64_t const before = std::exchange(held_, -1);
      if (from < to) reverse(from + 1, to);
      actions.push_back(chain_actions::reverse(from));
      if (own && !drops) actions.push_back(chain_actions::drop(from));
      held_ = before;
      return;
    }
    std::int64_t const middle = from + 1 + std::int64_t(numbers_() % std::uint64_t(to - from));
    for (std::int64_t i = from; i < middle; ++i) {
      actions.push_back(chain_actions::advance(i));
      if (i > from) actions.push_back(chain_actions::drop(i));
    }
    std::int64_t const before = std::exchange(held_, middle);
    reverse(middle, to);
    held_ = before;
    reverse(from, middle - 1);
  }

  std::mt19937_64 numbers_;
  std::int64_t stages_, held_ = -1;
  bool early_;
};

/// Any actions at all that can be obeyed, most of them of no use; then what is missing.
/// \param far  whether states may go to disk, too
inline std::vector<action> wild_plan(std::int64_t stages, std::uint64_t random_seed, int tries, bool self_contained,
                                     bool far = false) {
  using namespace chain_actions;
  std::mt19937_64 numbers{random_seed};
  cairn::detail::chain_walk walk{stages, cairn::detail::named_tiers::every(), "test"};
  std::vector<action> plan;
  std::int64_t open = stages + 1;
  auto const act = [&](action const& a) {
    walk.check(a);
    if (!self_contained) walk.check_state(a);
    walk.apply(a);
    plan.push_back(a);
    if (a.kind == cairn::action_kind::turn || a.kind == cairn::action_kind::reverse) open = a.from;
  };
  auto const random_try = [&] {
    std::size_t const kind = numbers() % (far ? 8 : 6);
    std::int64_t i = std::int64_t(numbers() % std::uint64_t(stages + 1));
    auto const of = all_actions[kind](0, {}).kind;
    if (of == cairn::action_kind::turn || (of == cairn::action_kind::reverse && numbers() % 2 == 0)) i = open - 1;
    cairn::tier where = cairn::tier::memory;
    if (kind > 5 || (far && kind == 2 && numbers() % 2 == 0))
      where = numbers() % 2 == 0 ? cairn::tier::disk : cairn::tier::host;
    action const a = all_actions[kind](i, where);
    try {
      act(a);
    } catch (cairn::invalid_schedule const&) {
    }
  };
  for (int k = 0; k < tries && open > 0; ++k) random_try();
  auto const reach = [&](std::int64_t i) {
    std::int64_t from = i;
    while (!walk.at_hand(from)) --from;
    for (; from < i; ++from) act(advance(from));
  };
  if (open > stages) reach(stages), act(turn(stages));
  while (open > 0) {
    std::int64_t const i = open - 1;
    reach(i);
    if (!walk.holds_tape(i)) act(record(i));
    act(reverse(i));
    if (numbers() % 2 == 0)
      for (std::int64_t k = i; k > 0; --k)
        if (walk.holds_state(k) && numbers() % 2 == 0) act(drop(k));
  }
  return plan;
}

}  // namespace chain_stages
