// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/loop/scan.hpp>
#include <cairn/cairn.hpp>
#include <cairn/schedule/two_level.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace scan_tests {

using at::Tensor;
using cl::LoopOptions;
using Catch::Matchers::ContainsSubstring;
using state = std::tuple<Tensor, Tensor>;
using support::said;
using support::same_bits;

/// Tied weights, dropout, an output that is the state itself and one that is computed from it: what breaks a careless
/// order of sums.
struct cell {
  Tensor w = (torch::randn({6, 6}) * 0.4).requires_grad_(true);
  Tensor p = torch::randn({6}).requires_grad_(true);
  Tensor b = p * 0.1;  // captured, and no leaf
  Tensor h0 = torch::randn({3, 6}).requires_grad_(true), c0 = torch::zeros({3, 6}).requires_grad_(true);

  [[nodiscard]] std::pair<state, state> operator()(state const& s, Tensor const& x, cairn::step_index) const {
    auto const& [h, c] = s;
    auto const z = torch::dropout(torch::tanh(h.mm(w) + x * (1 + 0.1 * h) + b), 0.3, true);
    auto const gate = torch::sigmoid(z.mm(w) + h);
    auto const next = torch::tanh(gate * z + c);
    return {state{next, gate * c + h}, state{next, torch::sigmoid(next.mm(w))}};
  }
  [[nodiscard]] std::vector<Tensor> leaves() const { return {w, p, h0, c0}; }
};
struct outcome {
  std::vector<Tensor> grads;
  Tensor h, ys, zs, next_random;
};
/// What comes of a run, which answers (h, c, ys, zs), and of its backward.
template <class Run>
outcome differentiated(cell const& x, std::vector<Tensor> const& xs, Run run) {
  support::seeded const seed{7};
  auto const [h, c, ys, zs] = run();
  outcome done{{}, h.detach(), ys.detach(), zs.detach(), torch::rand({4})};
  auto const at = at::detail::getDefaultCPUGenerator().get_state();
  (h.pow(2).sum() + c.sum() + (ys * torch::linspace(-1, 1, ys.numel()).view_as(ys)).sum() + zs.pow(3).sum())
      .backward({}, true);
  CHECK(same_bits(at, at::detail::getDefaultCPUGenerator().get_state()));
  auto leaves = x.leaves();
  leaves.insert(leaves.end(), xs.begin(), xs.end());
  done.grads = support::take_grads(leaves);
  return done;
}
using results = std::tuple<Tensor, Tensor, Tensor, Tensor>;
outcome plain(cell const& x, std::vector<Tensor> const& leaves, std::vector<Tensor> const& xs) {
  return differentiated(x, leaves, [&] {
    state s{x.h0, x.c0};
    std::vector<Tensor> ys, zs;
    for (std::size_t i = 0; i < xs.size(); ++i) {
      auto const [next, y] = x(s, xs[i], cairn::step_index(i));
      s = next;
      ys.push_back(std::get<0>(y));
      zs.push_back(std::get<1>(y));
    }
    return results{std::get<0>(s), std::get<1>(s), torch::stack(ys), torch::stack(zs)};
  });
}
outcome scanned(cell const& x, Tensor const& xs, LoopOptions const& options) {
  return differentiated(x, {xs}, [&] {
    auto const [last, ys] = cl::checkpointed_scan(x, state{x.h0, x.c0}, xs, options);
    return std::tuple_cat(last, ys);
  });
}
bool same(outcome const& x, outcome const& y) {
  return same_bits(x.grads, y.grads) && same_bits({x.h, x.ys, x.zs, x.next_random}, {y.h, y.ys, y.zs, y.next_random});
}
Tensor inputs(cairn::step_index steps) { return torch::randn({steps, 3, 6}).requires_grad_(true); }

Tensor leaf(double value = 0.5) { return torch::full({4}, value, torch::requires_grad()); }
using pair = std::pair<Tensor, Tensor>;
/// A running product, whose output is the state.
auto products(Tensor const& w) {
  return [w](Tensor const& h, Tensor const& x) {
    auto const next = torch::sin(h * w + x);
    return pair{next, next};
  };
}

TEST_CASE("a scan has the states, outputs and gradients of the plain loop, bit for bit", "[torch]") {
  cell const x;
  for (cairn::step_index const steps : {1, 2, 3, 13}) {
    auto const xs = inputs(steps);
    auto const want = plain(x, {xs}, xs.unbind(0));
    for (auto const slots : {1, 2, 3, 13})
      for (auto const size : {1, 2, 4, 7, 50}) {
        CAPTURE(steps, slots, size);
        REQUIRE(same(want, scanned(x, xs, LoopOptions().checkpoints(slots).block_size(size))));
      }
    CHECK(same(want, scanned(x, xs, LoopOptions())));
    CHECK(same(want, scanned(x, xs, LoopOptions().checkpoints(2).determinism(cl::Check::Bits))));
    CHECK(same(want, scanned(x, xs, LoopOptions().checkpoints(2).capture(cl::Capture::EveryStep))));
    CHECK(same(want, scanned(x, xs, LoopOptions().checkpoints(2).captures({x.b, x.w}).capture(cl::Capture::Explicit))));
  }
}

TEST_CASE("a scan obeys any schedule, and counts what the schedule's estimate says", "[torch]") {
  cell const x;
  cairn::step_index const steps = 24;
  auto const xs = inputs(steps);
  auto const want = plain(x, {xs}, xs.unbind(0));
  std::vector<cairn::any_schedule> const plans{cairn::revolve{steps, 3}, cairn::uniform{steps}, cairn::store_all(steps),
                                               cairn::two_level{steps, 6, 2},
                                               cairn::leaves{steps, 5, cairn::revolve{5, 2}}};
  for (auto const& plan : plans) {
    auto const stats = std::make_shared<cl::StepStats>();
    CHECK(same(want, scanned(x, xs, LoopOptions().schedule(plan).stats(stats))));
    auto const cost = cairn::estimate(plan);
    CHECK(stats->forward == steps);
    CHECK(cairn::wide(stats->forward + stats->recompute) == cost.counts.advances + cost.counts.turned);
    CHECK(stats->vjp == steps);
    CHECK(stats->slots_peak == cost.counts.peak_slots);
    CHECK(stats->bytes_peak == stats->slots_peak * 2 * 3 * 6 * 4);
  }
}

TEST_CASE("a scan of no steps is its initial state and empty outputs", "[torch]") {
  auto const x = leaf();
  auto const [last, ys] = cl::checkpointed_scan(products(x), x, torch::empty({0, 4}, at::kDouble), LoopOptions());
  CHECK(last.is_same(x));
  CHECK(ys.sizes() == at::IntArrayRef{0});
  CHECK(ys.scalar_type() == at::kDouble);
  auto const [same_last, list] = cl::checkpointed_scan(products(x), x, std::vector<Tensor>{}, LoopOptions());
  CHECK(same_last.is_same(x));
  CHECK(list.empty());
}

TEST_CASE("a scan goes along vectors, with inputs and outputs of other sizes in each step", "[torch]") {
  auto const w = leaf(0.7), h0 = leaf(0.2);
  std::vector<Tensor> xs;
  for (std::int64_t i = 0; i < 9; ++i) xs.push_back(torch::rand({i % 3 + 1, 4}).set_requires_grad(i != 4));
  xs[6] = Tensor{};
  auto const step = [&](Tensor const& h, Tensor const& x, cairn::step_index i) {
    auto const next = torch::sin(x.defined() ? h * w + (x * h).sum(0) : h * w);
    return pair{next, i == 3 ? Tensor{} : i % 2 == 0 ? next : torch::cat({next, h})};
  };
  std::vector<Tensor> leaves{w, h0};
  for (auto const& x : xs) if (x.defined()) leaves.push_back(x);
  auto const total = [](Tensor const& last, std::vector<Tensor> const& ys) {
    Tensor sum = last.sum();
    for (auto const& y : ys) if (y.defined()) sum = sum + y.pow(2).sum();
    return sum;
  };
  Tensor h = h0;
  std::vector<Tensor> want_ys;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    auto const [next, y] = step(h, xs[i], cairn::step_index(i));
    h = next;
    want_ys.push_back(y);
  }
  total(h, want_ys).backward();
  auto const want = support::take_grads(leaves);
  for (int const slots : {1, 2, 4})
    for (int const size : {1, 2, 3, 20}) {
      CAPTURE(slots, size);
      auto const [last, ys] = cl::checkpointed_scan(step, h0, xs, LoopOptions().checkpoints(slots).block_size(size));
      CHECK(same_bits(want_ys, ys));
      total(last, ys).backward();
      CHECK(same_bits(want, support::take_grads(leaves)));
    }
}

TEST_CASE("a scan goes along tuples, whose first sequence says how outputs come", "[torch]") {
  auto const w = leaf(0.7), h0 = leaf(0.2);
  auto const xs = torch::rand({7, 4}).requires_grad_(true);
  auto const tokens = torch::arange(7) % 3;
  std::vector<std::tuple<Tensor, Tensor>> pairs;
  for (int i = 0; i < 7; ++i) pairs.emplace_back(torch::rand({4}).requires_grad_(true), torch::ones({2}));
  auto const step = [&](Tensor const& h, auto const& input, cairn::step_index) {
    auto const& [x, token, more] = input;
    auto const next = torch::sin(h * w + x * w[token.template item<std::int64_t>()] + std::get<0>(more));
    return std::tuple<Tensor, std::vector<Tensor>>{next, {next * 2, token + 1}};
  };
  using input = std::tuple<Tensor, Tensor, std::tuple<Tensor, Tensor>>;
  auto const rows = xs.unbind(0);
  Tensor h = h0, sum;
  for (int i = 0; i < 7; ++i) {
    auto const [next, y] = step(h, input{rows[std::size_t(i)], tokens[i], pairs[std::size_t(i)]}, i);
    h = next;
    sum = sum.defined() ? sum + y[0].sum() : y[0].sum();
  }
  sum.backward();
  std::vector<Tensor> leaves{w, h0, xs};
  for (auto const& p : pairs) leaves.push_back(std::get<0>(p));
  auto const want = support::take_grads(leaves);
  auto const [last, ys] =
      cl::checkpointed_scan(step, h0, std::tuple{xs, tokens, pairs}, LoopOptions().checkpoints(2).block_size(2));
  CHECK(same_bits(ys[1], tokens + 1));
  CHECK_FALSE(ys[1].requires_grad());
  ys[0].sum().backward();
  for (std::size_t k = 0; k < want.size(); ++k) CHECK(torch::allclose(want[k], leaves[k].grad(), 1e-6, 1e-7));
  (void)support::take_grads(leaves);
  auto const swapped = [&](Tensor const& s, auto const& in) {
    return step(s, input{std::get<1>(in), tokens[0], std::get<0>(in)}, 0);
  };
  auto const [end, list] = cl::checkpointed_scan(swapped, h0, std::pair{pairs, xs}, LoopOptions());
  CHECK(list.size() == 7);
  CHECK(list[6].size() == 2);
  CHECK(same_bits(list[6][0], end * 2));
}

TEST_CASE("outputs or last states that nobody uses leave their gradients out", "[torch]") {
  auto const w = leaf(0.7), h0 = leaf(0.2);
  auto const xs = torch::rand({6, 4}).requires_grad_(true);
  auto const run = [&](bool looped) {
    if (looped) return cl::checkpointed_scan(products(w), h0, xs, LoopOptions().checkpoints(2));
    Tensor h = h0;
    std::vector<Tensor> ys;
    for (auto const& x : xs.unbind(0)) {
      h = products(w)(h, x).first;
      ys.push_back(h);
    }
    return pair{h, torch::stack(ys)};
  };
  using use = std::function<Tensor(pair const&)>;
  for (auto const& of :
       {use{[](pair const& r) { return r.first.sum(); }}, use{[](pair const& r) { return r.second.sum(); }},
        use{[](pair const& r) { return r.second[2].sum(); }}})
    for (auto const& wanted :
         {std::vector<Tensor>{h0, w, xs}, std::vector<Tensor>{xs}, std::vector<Tensor>{w}, std::vector<Tensor>{h0}})
      CHECK(same_bits(torch::autograd::grad({of(run(false))}, wanted), torch::autograd::grad({of(run(true))}, wanted)));
}

TEST_CASE("a scan without a state that is differentiable, or with outputs that are no states, has its gradients",
          "[torch]") {
  auto const w = leaf(0.7);
  auto const xs = torch::rand({6, 4}).requires_grad_(true);
  auto const grads = [&](std::function<Tensor(Tensor const&, Tensor const&, int)> const& output, bool looped,
                         LoopOptions const& options) {
    if (looped)
      return torch::autograd::grad({cl::checkpointed_scan(
                                        [&](Tensor const& n, Tensor const& x, cairn::step_index i) {
                                          return pair{n + 1, output(n, x, int(i))};
                                        },
                                        torch::zeros({}, at::kLong), xs, options)
                                        .second.sum()},
                                   {xs, w}, {}, true, false, true);
    std::vector<Tensor> ys;
    for (int i = 0; i < 6; ++i) ys.push_back(output(torch::full({}, i, at::kLong), xs.unbind(0)[std::size_t(i)], i));
    return torch::autograd::grad({torch::stack(ys).sum()}, {xs, w}, {}, true, false, true);
  };
  for (auto const& options :
       {LoopOptions(), LoopOptions().checkpoints(1), LoopOptions().checkpoints(2).block_size(4)}) {
    auto const product = [&](Tensor const& n, Tensor const& x, int) { return torch::sin(x * w) * n; };
    CHECK(same_bits(grads(product, false, options), grads(product, true, options)));
    auto const itself = [](Tensor const&, Tensor const& x, int) { return x; };
    CHECK(same_bits(grads(itself, false, options), grads(itself, true, options)));
    auto const captured = [&](Tensor const&, Tensor const&, int) { return w; };
    CHECK(same_bits(grads(captured, false, options), grads(captured, true, options)));
  }
}

TEST_CASE("outputs that are the state, now and then, have the right gradients", "[torch]") {
  auto const w = leaf(0.7), h0 = leaf(0.2);
  auto const xs = torch::rand({8, 4}).requires_grad_(true);
  for (int const every : {2, 3, 5}) {
    auto const step = [&](Tensor const& h, Tensor const& x, cairn::step_index i) {
      auto const next = torch::sin(h * w + x * h);
      return pair{next, i % every == 0 ? next : i % every == 1 ? h : next * h};
    };
    Tensor h = h0;
    std::vector<Tensor> all;
    for (auto const& x : xs.unbind(0)) {
      auto const [next, y] = step(h, x, cairn::step_index(all.size()));
      h = next;
      all.push_back(y);
    }
    auto const want = torch::autograd::grad({torch::stack(all).pow(2).sum() + h.sum()}, {xs, w, h0}, {}, true);
    for (int const slots : {1, 3})
      for (int const size : {1, 2, 3}) {
        auto const [last, ys] = cl::checkpointed_scan(step, h0, xs, LoopOptions().checkpoints(slots).block_size(size));
        auto const got = torch::autograd::grad({ys.pow(2).sum() + last.sum()}, {xs, w, h0});
        for (std::size_t k = 0; k < want.size(); ++k) CHECK(torch::allclose(want[k], got[k], 1e-5, 1e-6));
      }
  }
}

TEST_CASE("a scan without grad mode keeps no graph, and a retained graph is differentiated again", "[torch]") {
  auto const w = leaf(0.7), h0 = leaf(0.2);
  auto const xs = torch::rand({6, 4}).requires_grad_(true);
  auto const [last, ys] = cl::checkpointed_scan(products(w), h0, xs, LoopOptions().checkpoints(2));
  {
    at::NoGradGuard const no_grad;
    auto const stats = std::make_shared<cl::StepStats>();
    auto const [plain_last, plain_ys] =
        cl::checkpointed_scan(products(w), h0, xs, LoopOptions().checkpoints(2).stats(stats));
    CHECK(same_bits(last, plain_last));
    CHECK(same_bits(ys, plain_ys));
    CHECK_FALSE(plain_ys.requires_grad());
    CHECK(stats->forward == 6);
    CHECK(stats->slots_peak == 0);
  }
  {
    c10::InferenceMode const inference;
    CHECK(same_bits(ys, cl::checkpointed_scan(products(w), h0, xs, LoopOptions()).second));
  }
  auto const want = torch::autograd::grad({ys.sum()}, {xs, w}, {}, true);
  CHECK(same_bits(want, torch::autograd::grad({ys.sum()}, {xs, w})));
  CHECK_THAT(
      said<cairn::invalid_call>([&, &outputs = ys] { outputs.sum().backward(); }),
      ContainsSubstring("cairn::libtorch::checkpointed_scan: the checkpoints were used up by an earlier backward"));
}

TEST_CASE("a scan can be differentiated twice", "[torch]") {
  auto const options = at::TensorOptions(at::kDouble).requires_grad(true);
  auto const w = torch::full({4}, 0.9, options), h0 = torch::full({4}, 0.3, options), xs = torch::rand({7, 4}, options),
             scale = torch::full({7, 4}, 1.5, options);
  auto const step = [w](Tensor const& h, Tensor const& x) {
    auto const next = torch::sin(h * w) + torch::dropout(x * h, 0.2, true);
    return pair{next, next * x};
  };
  auto const second = [&](auto const& run) {
    torch::manual_seed(3);
    auto const [last, ys] = run();
    auto const first =
        torch::autograd::grad({last.pow(3).sum() + (ys.pow(2) * scale).sum()}, {xs, w, h0}, {}, true, true);
    auto all = torch::autograd::grad({first[0].pow(2).sum() + first[1].sin().sum() + first[2].sum()},
                                     {xs, w, h0, scale}, {}, true);
    all.push_back(first[0].detach());
    return all;
  };
  auto const want = second([&] {
    Tensor h = h0;
    std::vector<Tensor> ys;
    for (auto const& x : xs.unbind(0)) {
      auto const [next, y] = step(h, x);
      h = next;
      ys.push_back(y);
    }
    return pair{h, torch::stack(ys)};
  });
  for (int const size : {1, 3}) {
    auto const got =
        second([&] { return cl::checkpointed_scan(step, h0, xs, LoopOptions().checkpoints(2).block_size(size)); });
    for (std::size_t k = 0; k < want.size(); ++k) CHECK(torch::allclose(want[k], got[k], 1e-12, 1e-14));
    auto const listed = second([&] {
      auto const [last, ys] =
          cl::checkpointed_scan(step, h0, xs.unbind(0), LoopOptions().checkpoints(2).block_size(size));
      return pair{last, torch::stack(ys)};
    });
    for (std::size_t k = 0; k < want.size(); ++k) CHECK(torch::allclose(want[k], listed[k], 1e-12, 1e-14));
  }
  CHECK_THAT(said<cairn::invalid_call>([&] {
    (void)second([&] { return cl::checkpointed_scan(step, h0, xs, LoopOptions().double_backward(false)); });
  }), ContainsSubstring("cairn::libtorch::checkpointed_scan: the options of the loop forbid differentiating it twice"));
}

TEST_CASE("bf16 autocast around a scan gives the bits of the plain loop", "[torch]") {
  torch::nn::Linear net{4, 4};
  auto const h0 = torch::rand({2, 4}).requires_grad_(true), xs = torch::rand({9, 2, 4}).requires_grad_(true);
  auto const step = [&](Tensor const& h, Tensor const& x) {
    auto const next = torch::tanh(net->forward(h) + 0.5 * net->forward(x)).to(at::kFloat);
    return pair{next, net->forward(next)};
  };
  auto const grads = [&](std::function<pair()> const& run) {
    pair got;
    cl::detail::switch_autocast(at::kCPU, true);
    got = run();
    cl::detail::switch_autocast(at::kCPU, false);
    at::autocast::clear_cache();
    (got.first.sum() + got.second.to(at::kFloat).pow(2).sum()).backward();
    auto all = support::take_grads({net->weight, net->bias, h0, xs});
    all.push_back(got.second.detach());
    return all;
  };
  auto const want = grads([&] {
    Tensor h = h0;
    std::vector<Tensor> ys;
    for (auto const& x : xs.unbind(0)) {
      auto const [next, y] = step(h, x);
      h = next;
      ys.push_back(y);
    }
    return pair{h, torch::stack(ys)};
  });
  CHECK(want.back().scalar_type() == at::kBFloat16);
  for (int const size : {1, 4, 9})
    CHECK(same_bits(want, grads([&] {
                      return cl::checkpointed_scan(step, h0, xs, LoopOptions().checkpoints(2).block_size(size));
                    })));
}

TEST_CASE("callbacks of a scan see its states and their gradients", "[torch]") {
  auto const w = leaf(0.7), h0 = leaf(0.2);
  auto const xs = torch::rand({6, 4});
  std::vector<std::int64_t> states, grads;
  cl::StepCallbacks look;
  look.state = [&](std::int64_t i, at::TensorList parts) {
    CHECK(parts.size() == 1);
    states.push_back(i);
  };
  look.grad = [&](std::int64_t i, at::TensorList parts) {
    CHECK((parts.size() == 1 && parts[0].defined()));
    grads.push_back(i);
  };
  auto const step = [&](Tensor const& h, Tensor const& x, int i) { return products(w)(h, i * x); };
  auto const ys = cl::checkpointed_scan(step, h0, xs, LoopOptions().block_size(2).callbacks(look)).second;
  CHECK(states == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5});
  ys.sum().backward();
  CHECK(grads == std::vector<std::int64_t>{4, 2, 0});
}

TEST_CASE("hooks of the inputs run once", "[torch]") {
  auto const w = leaf(0.7), h0 = leaf(0.2);
  auto const xs = torch::rand({6, 4}).requires_grad_(true);
  int calls = 0;
  xs.register_hook([&](Tensor const&) { ++calls; });
  cl::checkpointed_scan(products(w), h0, xs, LoopOptions().checkpoints(2)).second.sum().backward();
  CHECK(calls == 1);
}

TEST_CASE("a scan holds its outputs, the gradients of its inputs, and beside them what its limit allows", "[torch]") {
  auto const w = (torch::randn({64, 64}) * 0.1).requires_grad_(true), out = torch::randn({64, 96}).requires_grad_(true);
  auto const h0 = torch::randn({8, 64}), xs = torch::randn({50, 8, 64}).requires_grad_(true);
  auto const step = [&](Tensor const& h, Tensor const& x) {
    auto const next = torch::tanh(torch::dropout(h, 0.2, true).mm(w) + x * h);
    return pair{next, torch::sigmoid(next.mm(out))};
  };
  std::uint64_t least = 0;
  try {
    (void)cl::checkpointed_scan(step, h0, xs, LoopOptions().memory_limit(1));
  } catch (cairn::infeasible_budget const& e) {
    CHECK_THAT(e.what(),
               ContainsSubstring("cairn::libtorch::checkpointed_scan: the memory limit is below what any plan takes"));
    least = std::uint64_t(e.value(1).magnitude);
  }
  REQUIRE(least > 0);
  std::uint64_t const outputs = 50 * 8 * 96 * 4, of_inputs = 50 * 8 * 64 * 4;
  auto const bars = torch::ones({50, 8, 96});
  std::vector<Tensor> want;
  std::int64_t fewest = 1000, most = 0;
  for (double const factor : {1.0, 1.2, 1.7, 3.0, 6.0, 20.0}) {
    auto const limit = std::uint64_t(double(least) * factor);
    CAPTURE(least, limit);
    auto const stats = std::make_shared<cl::StepStats>();
    support::seeded const seed{3};
    cl::byte_meter const meter{at::kCPU};
    auto const before = meter.allocated();
    auto const ys = cl::checkpointed_scan(step, h0, xs, LoopOptions().memory_limit(limit).stats(stats)).second;
    CHECK(std::uint64_t(meter.peak() - before) <= limit + outputs);
    auto const grads = torch::autograd::grad({ys}, {xs, w, out}, {bars});
    CHECK(std::uint64_t(meter.peak() - before) <= limit + outputs + of_inputs);
    if (want.empty()) want = grads;
    CHECK(same_bits(want, grads));
    fewest = std::min(fewest, stats->recompute);
    most = std::max(most, stats->recompute);
  }
  CHECK(fewest < most);
}

TEST_CASE("what is wrong with a scan is said, with the step", "[torch]") {
  auto const w = leaf(0.7), h0 = leaf(0.2);
  auto const xs = torch::rand({6, 4}).requires_grad_(true);
  auto const options = LoopOptions().checkpoints(2);
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_scan(products(w), h0, torch::ones({}), options); }),
             ContainsSubstring("cairn::libtorch::checkpointed_scan: an input has no first dimension to scan along"));
  auto const sum = [&](Tensor const& h, auto const& x) { return products(w)(h, std::get<0>(x)); };
  CHECK_THAT(said<cairn::invalid_call>([&] {
               (void)cl::checkpointed_scan(sum, h0, std::tuple{xs, torch::ones({5})}, options);
             }),
             ContainsSubstring("the inputs are of different lengths (steps of the first = 6, steps of another = 5)"));
  auto const grows = [&](Tensor const& h, Tensor const&, cairn::step_index i) {
    return pair{h.sin(), h.slice(0, 0, i == 3 ? 2 : 4)};
  };
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_scan(grows, h0, xs, options); }),
             ContainsSubstring("an output of the step is not like that of the first step (step = 3, output = 0)"));
  auto const changes = [&](Tensor const& h, Tensor const& x, cairn::step_index i) {
    return pair{h.sin(), i == 2 ? Tensor(x).mul_(2) : x * 2};
  };
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)cl::checkpointed_scan(changes, h0, xs * 1, options); }),
             ContainsSubstring("the step changed its input in place (step = 2, part = 0)"));
  using list = std::vector<Tensor>;
  CHECK_THAT(
      said<cairn::invalid_call>([&] {
        (void)cl::checkpointed_scan(
            [&](Tensor const& h, Tensor const&, cairn::step_index i) {
              return std::pair{h.sin(), list(i == 4 ? 1 : 2, h)};
            },
            h0, xs, options);
      }),
      ContainsSubstring(
          "the step returned an output with different parts from the first step (step = 4, parts returned = 1, parts = "
          "2)"));
  CHECK_THAT(said<cairn::invalid_call>([&] {
               (void)cl::checkpointed_scan(
                   [](list const& s, Tensor const& x, cairn::step_index i) {
                     return std::pair{i == 2 ? list{s[0]} : s, x};
                   },
                   list{h0, w}, xs, options);
             }),
             ContainsSubstring("cairn::libtorch::checkpointed_scan: the step returned a state with different parts "
                               "from the one it was given (step = 2, parts returned = 1, parts = 2)"));
  CHECK_THAT(
      said<cairn::invalid_call>([&] {
        (void)cl::checkpointed_scan(
            [](Tensor const& h, list const& x) {
              return pair{h.sin(), x[0]};
            },
            h0, std::vector<list>{{h0}, {h0, w}}, options);
      }),
      ContainsSubstring("the inputs of two steps have different parts (step = 1, its parts = 2, parts of step 0 = 1)"));
  auto const late = [&](Tensor const& h, Tensor const& x, cairn::step_index i) {
    return pair{torch::sin(h + x), i == 4 ? h * w : h.detach()};
  };
  CHECK_THAT(said<cairn::invalid_call>([&] { cl::checkpointed_scan(late, h0, xs, options).first.sum().backward(); }),
             ContainsSubstring("the step uses a differentiable tensor that the first steps did not use (step = 4"));
  auto const opens = [&](Tensor const& h, Tensor const& x, cairn::step_index i) {
    return pair{torch::sin(h + x), i == 4 ? h * 1 : h.detach()};
  };
  CHECK_THAT(said<cairn::invalid_call>([&] { cl::checkpointed_scan(opens, h0, xs, options).first.sum().backward(); }),
             ContainsSubstring(
                 "an output of the step becomes differentiable later than in the first steps (step = 4, output = 0)"));
  auto const [last, ys] = cl::checkpointed_scan(opens, h0, xs, LoopOptions(options).capture(cl::Capture::EveryStep));
  CHECK(ys.requires_grad());
  CHECK(torch::autograd::grad({ys.sum()}, {xs})[0].defined());
  CHECK_THAT(said<cairn::invalid_plan>(
                 [&] { (void)cl::checkpointed_scan(products(w), h0, xs, LoopOptions().checkpoints(-1)); }),
             ContainsSubstring("cairn::libtorch::checkpointed_scan"));
  auto const given = xs * 1;
  auto const [end, outputs] = cl::checkpointed_scan(products(w), h0, given, options);
  given.detach().mul_(2);
  CHECK_THAT(said<cairn::invalid_call>([&, &all = outputs] { all.sum().backward(); }),
             ContainsSubstring(
                 "an input of the steps was changed in place since the loop used it (input tensor = 0, of = 1)"));
  int calls = 0;
  auto const splits = [&](Tensor const& h, Tensor const& x, cairn::step_index i) {
    auto const next = torch::sin(h * w + x);
    return pair{next, i == 2 && ++calls > 1 ? next * 1 : next};
  };
  CHECK_THAT(
      said<cl::recompute_mismatch>([&] { cl::checkpointed_scan(splits, h0, xs, options).second.sum().backward(); }),
      ContainsSubstring("a step gives one tensor as a state and an output, and two when it is run again (step = 2, "
                        "part = 0, output = 0)"));
}

}  // namespace scan_tests
