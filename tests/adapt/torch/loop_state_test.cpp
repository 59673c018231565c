// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/loop.hpp>
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

}  // namespace loop_state_tests
