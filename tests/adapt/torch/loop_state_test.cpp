// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/loop.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/adapt/torch/loop/while.hpp>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace loop_state_tests {

using at::Tensor;
using cl::LoopOptions;
using support::same_bits;

/// A state of its own type: a tensor, a part that is a state too, and something that is no tensor.
struct particle {
  Tensor place;
  std::pair<Tensor, Tensor> rest;
  std::string name;
};

/// What its traits may leave out.
enum class lacks { nothing, tensor, number };
template <lacks What>
struct oscillator {
  Tensor place, speed;
  double age = 0;
};

/// The gradients of `inputs` by the plain loop and by ours, for several plans; `total` makes a number of the last
/// state.
template <class State, class Step, class Total>
void check_equal(State const& x, int steps, Step const& step, Total const& total, std::vector<Tensor> const& inputs,
                 LoopOptions const& given = LoopOptions()) {
  State last = x;
  for (int i = 0; i < steps; ++i) last = step(last, i);
  total(last).backward({}, true);
  auto const want = support::take_grads(inputs);
  for (int const slots : {1, 2, 4})
    for (int const size : {1, 2, 3, 20}) {
      CAPTURE(slots, size);
      auto const got = cl::checkpointed_loop(
          step, x, steps, LoopOptions(given).checkpoints(slots).block_size(size).determinism(cl::Check::Bits));
      total(got).backward({}, true);
      CHECK(same_bits(want, support::take_grads(inputs)));
    }
}

}  // namespace loop_state_tests

template <>
struct cairn::libtorch::tensor_traits<loop_state_tests::particle> {
  static void flatten(loop_state_tests::particle const& x, tensor_list& parts) {
    append_tensors(x.place, parts);
    append_tensors(x.rest, parts);
  }
  static loop_state_tests::particle unflatten(loop_state_tests::particle const& like, tensor_reader& from) {
    auto place = from.next();
    return {place, read_tensors(like.rest, from), like.name};
  }
};
template <loop_state_tests::lacks What>
struct cairn::libtorch::tensor_traits<loop_state_tests::oscillator<What>> {
  using state = loop_state_tests::oscillator<What>;
  static constexpr bool complete = What != loop_state_tests::lacks::tensor;
  static void flatten(state const& x, tensor_list& parts) {
    append_tensors(x.place, parts);
    if (complete) append_tensors(x.speed, parts);
  }
  static state unflatten(state const& like, tensor_reader& from) {
    auto place = from.next();
    return {place, complete ? from.next() : like.speed, like.age};
  }
};

namespace loop_state_tests {

TEST_CASE("states may be tensors, tuples, pairs, arrays, vectors, dictionaries and types with traits, one in another",
          "[torch]") {
  auto const a = torch::randn({3}).requires_grad_(true), b = torch::randn({3}).requires_grad_(true),
             w = torch::randn({3}).requires_grad_(true);
  auto const sum = [](auto const& x) { return (x[0] * x[1].cos()).sum(); };
  check_equal(
      a, 7, [&](Tensor const& x, cairn::step_index) { return torch::sin(x * w); },
      [](Tensor const& x) { return x.sum(); }, {a, w});
  check_equal(std::vector<Tensor>{a, b}, 7,
              [&](auto const& x, cairn::step_index i) {
                return std::vector<Tensor>{x[1].sin() + 0.1 * double(i), x[0] * w};
              },
              sum, {a, b, w});
  check_equal(std::array<Tensor, 2>{a, b}, 7,
              [&](auto const& x, cairn::step_index) {
                return std::array<Tensor, 2>{x[1].sin(), x[0] * w};
              },
              sum, {a, b, w});
  using nested = std::tuple<Tensor, std::vector<std::pair<Tensor, Tensor>>>;
  check_equal(
      nested{a, {{b, w}, {a * 2, b * 3}}}, 6,
      [](nested const& x, cairn::step_index) {
        auto const& [p, q] = x;
        return nested{p.sin() * q[0].first, {{q[1].second, q[0].second.cos()}, {p, q[1].first + q[0].first}}};
      },
      [](nested const& x) { return (std::get<0>(x) + std::get<1>(x)[1].second + std::get<1>(x)[0].second).sum(); },
      {a, b, w});
  torch::OrderedDict<std::string, Tensor> dictionary;
  dictionary.insert("h", a);
  dictionary.insert("c", b);
  check_equal(
      dictionary, 6,
      [&](auto const& x, cairn::step_index) {
        torch::OrderedDict<std::string, Tensor> next;
        next.insert("h", torch::sin(x["h"] * w));
        next.insert("c", x["c"] + x["h"]);
        return next;
      },
      [](auto const& x) { return (x["h"] * x["c"]).sum(); }, {a, b, w});
  check_equal(
      particle{a, {b, w}, "p"}, 6,
      [](particle const& x, cairn::step_index) {
        return particle{x.place.sin() + x.rest.first, {x.rest.second * x.place, x.rest.second}, x.name};
      },
      [](particle const& x) {
        CHECK(x.name == "p");
        return (x.place * x.rest.first).sum();
      },
      {a, b, w});
  CHECK(cl::checkpointed_loop([](std::vector<Tensor> const& x) { return x; }, std::vector<Tensor>{}, 4, LoopOptions())
            .empty());
}

TEST_CASE("parts that stay the same, stand twice, are views or move on give the bits of the plain loop", "[torch]") {
  using list = std::vector<Tensor>;
  auto const a = torch::randn({2, 3}).requires_grad_(true), b = torch::randn({2, 3}).requires_grad_(true),
             w = torch::randn({2, 3}).requires_grad_(true);
  auto const sum = [](list const& x) {
    Tensor total = torch::zeros({});
    for (auto const& part : x) total = total + part.cos().sum();
    return total;
  };
  SECTION("unchanged") {
    check_equal(list{a, b}, 7,
                [&](list const& x, cairn::step_index) {
                  return list{torch::sin(x[0] * x[1]) * x[1], x[1]};
                },
                sum, {a, b});
  }
  SECTION("twice") {
    check_equal(list{a, a}, 7, [&](list const& x, cairn::step_index) {
      auto const y = torch::sin(x[0] * x[1]) * w + x[0];
      return list{y, y};
    }, sum, {a, w});
  }
  SECTION("a view") {
    check_equal(list{a, b.t()}, 7, [&](list const& x, cairn::step_index) {
      auto const y = torch::sin(x[0] * w) + x[1].t();
      return list{y, y.t()};
    }, sum, {a, b, w});
  }
  SECTION("moving on") {
    check_equal(list{a, b, a * b}, 7,
                [&](list const& x, cairn::step_index) {
                  return list{torch::sin(x[0] * w) + x[2], x[0], x[1]};
                },
                sum, {a, b, w});
  }
  SECTION("a captured tensor as a part") {
    check_equal(list{a, b}, 7,
                [&](list const& x, cairn::step_index) {
                  return list{torch::sin(x[0] * x[1]), w};
                },
                sum, {a, b, w});
  }
  SECTION("in place on a fresh tensor, and on a view of it") {
    check_equal(list{a}, 7, [&](list const& x, cairn::step_index) {
      auto y = x[0] * 2;
      y[0].mul_(w[1]);
      return list{y.sin_()};
    }, sum, {a, w});
  }
}

TEST_CASE("parts that are no numbers to differentiate, are undefined, or start without a gradient", "[torch]") {
  using list = std::vector<Tensor>;
  auto const a = torch::randn({3}).requires_grad_(true), w = torch::randn({3}).requires_grad_(true);
  auto const count = torch::zeros({}, at::kLong), mask = torch::tensor({1.0F, 0.0F, 1.0F});
  auto const step = [&](list const& x, cairn::step_index) {
    return list{torch::sin(x[0] * w) * x[2], x[1] + 1, x[2], Tensor{}, x[4] + x[0]};
  };
  list const x{a, count, mask, Tensor{}, torch::zeros({3})};
  auto const last = cl::checkpointed_loop(step, x, 5, LoopOptions().checkpoints(2));
  CHECK(last[1].item<std::int64_t>() == 5);
  CHECK_FALSE(last[2].requires_grad());
  CHECK_FALSE(last[3].defined());
  CHECK(last[4].requires_grad());
  check_equal(x, 5, step, [](list const& y) { return (y[0] * y[4]).sum(); }, {a, w});
  check_equal(list{torch::ones({3}), count, mask, Tensor{}, torch::zeros({3})}, 5, step,
              [](list const& y) { return (y[0] * y[4]).sum(); }, {w});
  check_equal(
      list{a, a * 2}, 5,
      [&](list const& y, cairn::step_index) {
        return list{y[0].sin() * w, y[0].detach()};
      },
      [](list const& y) { return (y[0] * y[1]).sum(); }, {a, w});
}

TEST_CASE("a state may grow and change its type on the way", "[torch]") {
  auto const a = torch::randn({1}).requires_grad_(true), w = torch::randn({1}).requires_grad_(true);
  check_equal(
      a, 9,
      [&](Tensor const& x, cairn::step_index i) {
        auto const y = torch::cat({x, x.slice(0, 0, 1) * w.to(x.dtype())});
        return i == 4 ? y.to(at::kDouble) : y;
      },
      [](Tensor const& x) { return x.sin().sum(); }, {a, w});
}

TEST_CASE("the last state may be changed in place", "[torch]") {
  auto const a = torch::randn({3}).requires_grad_(true);
  auto const step = [](Tensor const& x) { return x.sin(); };
  auto const want = torch::autograd::grad({(step(step(step(a))) + 1).sum()}, {a})[0];
  auto y = cl::checkpointed_loop(step, a, 3, LoopOptions().checkpoints(2));
  y.add_(1);
  CHECK(same_bits(want, torch::autograd::grad({y.sum()}, {a})[0]));
}

/// A step of it, which draws numbers and changes buffers.
template <lacks What>
struct oscillating {
  torch::nn::BatchNorm1d norm;
  oscillator<What> operator()(oscillator<What> const& x, cairn::step_index) const {
    auto holder = norm;
    auto const noise = torch::dropout(x.speed, 0.1, true);
    auto const seen = holder(noise.expand({2, 3}) * torch::tensor({{1.0}, {2.0}}, torch::kDouble)).sum(0);
    auto const age = What == lacks::number ? x.age + 1 : x.age;
    return {x.place + noise * 0.1 + age, x.speed - x.place.sin() * 0.2 + seen * 0.1, age};
  }
};
template <lacks What>
oscillator<What> run_under(int verb, oscillating<What> const& step, oscillator<What> const& x,
                           LoopOptions const& options) {
  if (verb == 0) return cl::checkpointed_loop(step, x, 6, options);
  if (verb == 1)
    return cl::checkpointed_while(step, x, [](oscillator<What> const&, cairn::step_index i) { return i < 6; }, options);
  return cl::checkpointed_scan([step](oscillator<What> const& s, Tensor const& input, cairn::step_index i) {
           auto next = step(s, i);
           return std::pair{next, input};
         }, x, torch::zeros({6, 1}), options).first;
}
template <lacks What>
void check_lacking(LoopOptions const& options) {
  torch::nn::BatchNorm1d norm(3);
  norm->to(torch::kDouble);
  auto const norm_before = norm->running_mean.clone();
  auto const ones = torch::ones({3}, torch::dtype(torch::kDouble).requires_grad(true));
  oscillator<What> const x{ones, ones * 0.3};
  auto const all = LoopOptions(options).module(norm);
  for (int const verb : {0, 1, 2}) {
    CAPTURE(verb);
    norm->running_mean.copy_(norm_before);
    torch::manual_seed(7);
    auto const run = [&] { return run_under<What>(verb, {norm}, x, all); };
    if constexpr (What == lacks::nothing) {
      auto plain = x;
      for (cairn::step_index i = 0; i < 6; ++i) plain = oscillating<What>{norm}(plain, i);
      auto const want = torch::autograd::grad({plain.place.sum()}, {ones})[0];
      auto const mean = norm->running_mean.clone(), number = torch::rand({1});
      norm->running_mean.copy_(norm_before);
      torch::manual_seed(7);
      auto const got = run();
      CHECK(same_bits(norm->running_mean, mean));
      CHECK(same_bits(torch::rand({1}), number));
      CHECK(same_bits(got.place, plain.place));
      CHECK(same_bits(torch::autograd::grad({got.place.sum()}, {ones})[0], want));
    } else {
      CHECK_THAT(support::said<cl::recompute_mismatch>([&] { (void)run(); }),
                 Catch::Matchers::ContainsSubstring("rebuilt from its tensors and run on is not what the step made") &&
                     Catch::Matchers::ContainsSubstring("(step = 1, part = 0)"));
    }
  }
}

TEST_CASE("a check of bits finds what tensor_traits leave out, where nothing runs again, too", "[torch]") {
  auto const checked = {LoopOptions().determinism(cl::Check::Bits),
                        LoopOptions().verify(cairn::replay_check::checkpoints),
                        LoopOptions().verify(cairn::replay_check::every_step)};
  for (auto const& options : checked)
    for (int const slots : {1, 6}) {
      check_lacking<lacks::tensor>(LoopOptions(options).checkpoints(slots));
      check_lacking<lacks::number>(LoopOptions(options).checkpoints(slots));
      check_lacking<lacks::nothing>(LoopOptions(options).checkpoints(slots));
    }
}

TEST_CASE("a loop that ends after one step is not run further by a check of its states", "[torch]") {
  int calls = 0;
  using state = oscillator<lacks::number>;
  auto const step = [&](state const& x, cairn::step_index i) {
    REQUIRE(i == 0);
    ++calls;
    return state{x.place * 2, x.speed, x.age + 1};
  };
  auto const ones = torch::ones({3}).requires_grad_(true);
  auto const checked = LoopOptions().verify(cairn::replay_check::checkpoints);
  auto const once = [](state const&, cairn::step_index i) { return i < 1; };
  (void)cl::checkpointed_while(step, state{ones, ones}, once, checked);
  (void)cl::checkpointed_loop(step, state{ones, ones}, 1, checked);
  CHECK(calls == 3);  // and one that is tried
  CHECK_THROWS_AS(cl::checkpointed_loop(step, state{ones, ones}, 5, LoopOptions(checked).checkpoints(-1)),
                  cairn::invalid_plan);
  CHECK(calls == 3);
}

}  // namespace loop_state_tests
