// SPDX-License-Identifier: Apache-2.0
// What no operator shows is found by `verify` and held by `pin`; what a limit counts, and what is said if it is passed.
#include "adapt/torch/models/whole_models.hpp"
#include "adapt/torch/models/recorded_programs.hpp"
#include "support/torch.hpp"
#include <cstdint>
#include <string>
#include <thread>
#include <torch/library.h>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/graph/checkpoint_module.hpp>
#include <cairn/adapt/torch/memory/byte_meter.hpp>

namespace record_limits_tests {

using at::Tensor;
using recorded_programs::runner;
using recorded_programs::tensors;
using support::same_bits;
using support::seeded;
using support::take_grads;

int waves = 0;
Tensor wave(Tensor const& t) {
  ++waves;
  return t.sin() * 2;
}
TORCH_LIBRARY(cairn_record_tests, library) { library.def("wave(Tensor t) -> Tensor"); }
TORCH_LIBRARY_IMPL(cairn_record_tests, CPU, library) { library.impl("wave", &wave); }

/// A program and something that happens between forward and backward.
struct unseen {
  char const* name;
  std::function<Tensor(Tensor const& x)> f;
  std::function<void()> between;
};
std::vector<unseen> all_unseen(Tensor const& a, Tensor const& bias) {
  auto const two = [=](Tensor const& x) { return torch::tanh(torch::tanh(x + bias).mm(a)); };
  return {{"a raw pointer writes to a result",
           [=](Tensor const& x) {
             auto h = torch::tanh(x.mm(a));
             auto const m = h.detach().clone();
             m.data_ptr<float>()[0] = 100;
             return torch::tanh((h * m).mm(a));
           },
           [] {}},
          {"data() writes between forward and backward", two, [=] { bias.data().mul_(2); }}};
}

TEST_CASE("verify finds what no operator shows, and nothing without it", "[torch][record]") {
  seeded const seed{1};
  auto const a = torch::eye(32) * 0.5, bias = torch::randn({32});
  for (auto const& one : all_unseen(a, bias)) {
    INFO(one.name);
    for (auto const limit : {std::int64_t{1}, std::int64_t{40'000}}) {
      auto const step = [&](bool verify) {
        bias.fill_(0.3);
        auto const x = torch::full({128, 32}, 0.1).requires_grad_();
        auto const run =
            cl::checkpoint_module(one.f, limit, cl::ModuleOptions().verify(verify).notice([](std::string const&) {}));
        auto const y = run(x);
        one.between();
        y.sum().backward();
        return x.grad();
      };
      CHECK(support::said<cairn::invalid_call>([&] { (void)step(true); }).find("other bits than at first") !=
            std::string::npos);
    }
  }
}

TEST_CASE("a pinned tensor is held as it is", "[torch][record]") {
  seeded const seed{2};
  auto const a = torch::eye(32) * 0.5, x = torch::randn({128, 32}).requires_grad_();
  auto const f = [&](Tensor const& in) {
    auto h = torch::tanh(in.mm(a));
    auto const m = h.detach().clone();
    m.data_ptr<float>()[0] = 100;
    h = h * cl::pin(m);
    return torch::tanh(h.mm(a));
  };
  f(x).sum().backward();
  auto const wanted = take_grads({x});
  auto const run = cl::checkpoint_module(f, 1, cl::ModuleOptions().verify(true).notice([](std::string const&) {}));
  run(x).sum().backward();
  CHECK(same_bits(take_grads({x}), wanted));
  CHECK(run.report().again > 0);
}

TEST_CASE("a tensor that was read and changed in place before backward is an error", "[torch][record]") {
  auto const bias = torch::ones({32}), a = torch::eye(32), x = torch::randn({128, 32}).requires_grad_();
  auto const f = [&](Tensor const& in) { return torch::tanh(torch::tanh(in + bias).mm(a)); };
  auto const run = cl::checkpoint_module(f, 1, cl::ModuleOptions().notice([](std::string const&) {}));
  auto const y = run(x);
  bias.mul_(2);
  CHECK(support::said<cairn::invalid_call>([&] { y.sum().backward(); }).find("changed in place") != std::string::npos);
}

TEST_CASE("what an operator of another library makes is held, runs once, and the report says so", "[torch][record]") {
  seeded const seed{3};
  auto const op =
      c10::Dispatcher::singleton().findSchemaOrThrow("cairn_record_tests::wave", "").typed<Tensor(Tensor const&)>();
  auto const a = torch::randn({32, 32}) / 6, x = torch::randn({128, 32}).requires_grad_();
  auto const f = [&](Tensor const& in) {
    Tensor h = in;
    for (int k = 0; k < 4; ++k) {
      Tensor n;
      {
        torch::NoGradGuard const off;
        n = op.call(h);
      }
      h = torch::tanh(h.mm(a) * n);
    }
    return h;
  };
  f(x).sum().backward();
  auto const wanted = take_grads({x});
  waves = 0;
  std::vector<std::string> told;
  auto const run =
      cl::checkpoint_module(f, 1, cl::ModuleOptions().notice([&](std::string const& what) { told.push_back(what); }));
  for (int k = 1; k <= 2; ++k) {
    run(x).sum().backward();
    CHECK(same_bits(take_grads({x}), wanted));
    CHECK(waves == 4 * k);
  }
  REQUIRE(run.report().kept.size() == 1);
  CHECK(run.report().kept.front() == "cairn_record_tests::wave is not an operator of LibTorch's own");
  REQUIRE(told.size() == 2);
  CHECK(told[0].find(run.report().kept.front()) != std::string::npos);
  CHECK(told[1].find("holds more than the limit of 1 bytes") != std::string::npos);
}

TEST_CASE("a limit that the program itself passes is named with the least, or throws", "[torch][record]") {
  seeded const seed{4};
  whole_models::ResNet net(3);
  auto const x = torch::randn({4, 3, 16, 16});
  std::vector<std::string> told;
  auto const notice = [&](std::string const& what) { told.push_back(what); };
  auto const run = cl::checkpoint_module(net, 1, cl::ModuleOptions().notice(notice));
  run(x).sum().backward();
  auto const least = run.report().least;
  for (int k = 0; k < 2; ++k) run(x).sum().backward();
  REQUIRE(told.size() == 1);
  CHECK(told[0].find("about " + std::to_string(least)) != std::string::npos);
  auto const strict = cl::checkpoint_module(net, 1, cl::ModuleOptions().strict(true));
  CHECK_THROWS_AS(strict(x), cairn::infeasible_budget);
  auto const enough = cl::checkpoint_module(net, least * 5 / 4, cl::ModuleOptions().strict(true).notice(notice));
  for (int k = 0; k < 3; ++k) enough(x).sum().backward();
  CHECK(enough.report().peak <= least * 5 / 4);
  CHECK(told.size() == 1);
}

TEST_CASE("a limit counts what a meter counts, but for gradients of leaves that are there", "[torch][record]") {
  seeded const seed{5};
  whole_models::LanguageModel net(20, 32, 2, 16, 4, 0.1);
  auto const tokens = torch::randint(20, {4, 16}, torch::kLong);
  std::int64_t gradients = 0;
  for (auto const& p : net->parameters()) gradients += std::int64_t(p.nbytes());
  auto const step = [&](auto const& call) {
    for (auto const& p : net->parameters()) p.mutable_grad() = Tensor{};
    cl::byte_meter const meter;
    auto y = call(tokens);
    auto const bar = torch::ones({}).expand(y.sizes());
    y.backward(bar);
    return meter.peak();
  };
  auto const plain = step([&](Tensor const& t) { return net->forward(t); });
  auto const free = cl::checkpoint_module(net, recorded_programs::no_limit);
  auto const most = step(free);
  CHECK(most <= plain);
  auto const lean = cl::checkpoint_module(net, 1, cl::ModuleOptions().notice([](std::string const&) {}));
  (void)step(lean);
  auto const least = lean.report().least;
  CHECK(least < most / 2);
  for (int const part : {1, 2, 3}) {
    auto const limit = least + (free.report().peak - least) * part / 4;
    auto const run = cl::checkpoint_module(net, limit, cl::ModuleOptions().strict(true));
    for (int k = 0; k < 2; ++k) CHECK(step(run) <= limit + gradients);
    CHECK(run.report().peak <= limit);
  }
}

/// Its adjoint makes the gradient of w after a block of the same size, or before one.
struct Product : torch::autograd::Function<Product> {
  static inline bool is_last = true;
  static Tensor forward(torch::autograd::AutogradContext* kept, Tensor const& x, Tensor const& w) {
    kept->save_for_backward({x, w});
    return x.mm(w);
  }
  static tensors backward(torch::autograd::AutogradContext* kept, tensors const& bar) {
    auto const saved = kept->get_saved_variables();
    auto const made = [&] { return saved[0].t().mm(bar[0]); };
    Tensor first = made(), second = made();
    return {bar[0].mm(saved[1].t()), is_last ? second : first};
  }
};

TEST_CASE("gradients of leaves push nothing out from the second step on, and what is taken for one counts",
          "[torch][record]") {
  seeded const seed{7};
  std::vector<Tensor> w;
  for (int k = 0; k < 8; ++k) w.push_back((torch::randn({256, 256}) / 16).requires_grad_());
  auto const x = torch::randn({8, 256}).requires_grad_();
  std::int64_t const one = std::int64_t(w[0].nbytes());
  cl::RecordReport before;
  auto const step = [&](auto const& run) {
    for (auto const& p : w) p.mutable_grad() = Tensor{};
    cl::byte_meter const meter;
    run(x).sum().backward();
    return meter.peak();
  };
  auto const plain = [&](auto const& product) {
    return [&](Tensor h) {
      for (auto const& p : w) h = torch::tanh(product(h, p));
      return h;
    };
  };
  auto const count = [&](auto const& run) {
    auto const report = run.report();
    auto const dropped = report.dropped - std::exchange(before, report).dropped;
    return dropped;
  };
  auto const mm = plain([](Tensor const& h, Tensor const& p) { return h.mm(p); });
  (void)step(mm);
  auto wanted = take_grads(w);
  wanted.push_back(take_grads({x})[0]);
  auto const all = [&] {
    auto found = take_grads(w);
    found.push_back(take_grads({x})[0]);
    return found;
  };
  std::int64_t const room = one / 2;  // for all else: no gradient fits
  auto const run = cl::checkpoint_module(mm, room, cl::ModuleOptions().strict(true));
  for (int k = 0; k < 3; ++k) {
    CHECK(step(run) <= room + std::int64_t(w.size()) * one);
    CHECK(same_bits(all(), wanted));
    CHECK((count(run) > 0) == (k == 0));
  }
  CHECK(run.report().peak <= room);

  auto const product = plain([](Tensor const& h, Tensor const& p) { return Product::apply(h, p); });
  auto const other = cl::checkpoint_module(product, room + one, cl::ModuleOptions().strict(true));
  before = {};
  for (int k = 0; k < 6; ++k) {
    Product::is_last = k < 3;
    CHECK(step(other) <= room + std::int64_t(w.size() + 1) * one);
    CHECK(same_bits(all(), wanted));
    CHECK((count(other) > 0) == (k == 0));
    CHECK(other.report().peak >= one);
  }
}

TEST_CASE("several calls before their backward, and calls of several threads, share one limit", "[torch][record]") {
  seeded const seed{6};
  auto const w = torch::randn({64, 64}) / 8;
  auto const f = [&](Tensor const& in) {
    Tensor h = in;
    for (int k = 0; k < 12; ++k) h = torch::tanh(h.mm(w));
    return h;
  };
  auto const x = torch::randn({64, 64}).requires_grad_();
  auto const several = [&](auto const& call) {
    auto const y = call(x), z = call(x * 2), u = call(y + z);
    (y + z + u).sum().backward();
    return take_grads({x});
  };
  auto const wanted = several(f);
  auto const free = cl::checkpoint_module(f, recorded_programs::no_limit);
  CHECK(same_bits(several(free), wanted));
  auto const limit = free.report().peak / 2;
  auto const run = cl::checkpoint_module(f, limit, cl::ModuleOptions().strict(true));
  CHECK(same_bits(several(run), wanted));
  CHECK(run.report().peak <= limit);

  // Another thread's record gives nothing back while it is at work: then the limit may be passed.
  auto const shared = cl::checkpoint_module(f, limit, cl::ModuleOptions().notice([](std::string const&) {}));
  std::vector<tensors> found(2);
  std::vector<Tensor> inputs{torch::randn({64, 64}).requires_grad_(), torch::randn({64, 64}).requires_grad_()};
  std::vector<tensors> plain;
  for (auto const& one : inputs) plain.push_back(torch::autograd::grad({f(one).sum()}, {one}));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 20; ++k) found[t] = torch::autograd::grad({shared(inputs[t]).sum()}, {inputs[t]});
    });
  for (auto& one : threads) one.join();
  for (std::size_t t = 0; t < 2; ++t) CHECK(same_bits(found[t], plain[t]));
}

TEST_CASE("without a limit nothing runs again, also if a batch norm is used twice", "[torch][record]") {
  seeded const seed{8};
  torch::nn::BatchNorm1d norm(16);
  torch::nn::Linear net(16, 16);
  auto const f = [&](Tensor const& in) { return norm(torch::tanh(net(norm(in)))); };
  auto const x = torch::randn({64, 16}).requires_grad_();
  auto const run = cl::checkpoint_module(f, recorded_programs::no_limit, cl::ModuleOptions().verify(true));
  run(x).sum().backward();
  CHECK(run.report().again == 0);
}

TEST_CASE("what a call leaves held is gone with the tensors that autograd saved", "[torch][record]") {
  auto const w = torch::randn({64, 64}), x = torch::randn({64, 64}).requires_grad_();
  auto const run = cl::checkpoint_module(
      [&](Tensor const& in) { return torch::tanh(torch::tanh(in.mm(w)).mm(w)).sum(); }, recorded_programs::no_limit);
  cl::byte_meter const meter;
  for (int k = 0; k < 3; ++k) {
    auto const y = run(x);
    CHECK(meter.allocated() > std::int64_t(y.nbytes()));
    (void)torch::autograd::grad({y}, {x});
    CHECK(meter.allocated() == std::int64_t(y.nbytes()));
  }
}

}  // namespace record_limits_tests
