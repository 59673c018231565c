// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <tuple>
#include <vector>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/record/region.hpp>

namespace region_keep_tests {

using at::Tensor;
using cl::checkpoint;
using cl::CheckpointOptions;
using support::same_bits;
using support::seeded;
using support::take_grads;

TEST_CASE("what is kept in a region is not run again, and gradients and random numbers are those of the plain call",
          "[torch][region][keep]") {
  bool const nested = GENERATE(true, false);
  seeded const seed{1};
  auto const x = torch::randn({4, 4}).requires_grad_(true), w = torch::randn({4, 4}).requires_grad_(true);
  int kept = 0, around = 0;
  auto const f = [&](Tensor const& a) {
    ++around;
    auto const h = torch::dropout(a.sin(), 0.5, true);
    auto const [p, q] = cl::keep([&] {
      ++kept;
      auto const m = torch::mm(h, w);
      return std::tuple{torch::dropout(m, 0.5, true), m.exp()};
    });
    auto const z = cl::keep([&] { return p.tanh(); });
    return torch::dropout((p * q).sigmoid() * z * h.exp(), 0.5, true).cos();
  };
  auto const run = [&](bool plain, int times) {
    torch::manual_seed(5);
    kept = around = 0;
    auto const options = CheckpointOptions().verify(true);
    auto const y = plain ? f(x * 2)
                   : nested
                       ? checkpoint([&f, options](Tensor const& a) { return checkpoint(f, a.sin().asin(), options); },
                                    (x * 2).clamp(-1, 1), options)
                       : checkpoint(f, x * 2, options);
    auto grads = std::vector<Tensor>{torch::rand({2})};
    for (int k = 1; k <= times; ++k) {
      y.sum().backward({}, k < times);
      for (auto const& g : take_grads({x, w})) grads.push_back(g);
    }
    return grads;
  };
  if (!nested) CHECK(same_bits(run(true, 2), run(false, 2)));
  else {
    auto const plain_of = [&] {
      torch::manual_seed(5);
      f((x * 2).clamp(-1, 1).sin().asin()).sum().backward();
      auto grads = take_grads({x, w});
      return grads;
    };
    auto const expected = plain_of();
    auto const got = run(false, 2);
    CHECK(same_bits(expected, {got[1], got[2]}));
    CHECK(same_bits(expected, {got[3], got[4]}));
  }
  (void)run(false, 1);
  CHECK(kept == 1);
  CHECK(around == 1);
}

TEST_CASE("what is kept in a region is not made again, and once for a region around it", "[torch][region][keep]") {
  auto const x = torch::randn({8, 8}).requires_grad_(true), w = torch::randn({8, 8}).requires_grad_(true);
  auto const& again = cl::detail::region_totals()->again;
  auto const f = [&](bool keeps) {
    return [&w, keeps](Tensor const& a) {
      auto const part = [&] { return a.mm(w).sin(); };
      return (keeps ? cl::keep(part) : part()).exp() + 1;
    };
  };
  auto const count = [&](auto const& run) {
    auto const y = run();
    auto const before = again.load();
    y.sum().backward();
    return again - before;
  };
  CHECK(count([&] { return checkpoint(f(false), x); }) == 3);  // mm, sin, exp
  CHECK(count([&] { return checkpoint(f(true), x); }) == 1);   // exp
  auto const outer = [&](bool keeps) {
    return [&f, keeps, x](Tensor const& a) { return checkpoint(f(keeps), a.cos()).tanh() * 2; };
  };
  CHECK(count([&] { return checkpoint(outer(false), x); }) == 6 + 3);
  CHECK(count([&] { return checkpoint(outer(true), x); }) == 6 + 2);  // mm, which the kept sine saves, and exp
}

TEST_CASE("what is kept takes its bytes, and they go with the graph", "[torch][region][keep]") {
  auto const x = torch::ones({1 << 12}).requires_grad_(true);
  auto const bytes = std::int64_t(x.nbytes());
  auto const f = [](bool keeps) {
    return [keeps](Tensor const& a) {
      auto const h = a.sin();
      auto const part = [&] { return h.exp(); };
      return (keeps ? cl::keep(part) : part()).cos().sum();
    };
  };
  cl::byte_meter const meter;
  {
    auto const y = checkpoint(f(false), x);
    CHECK(meter.allocated() < bytes);
    auto const z = checkpoint(f(true), x);
    CHECK(meter.allocated() >= bytes);
    CHECK(meter.allocated() < 2 * bytes);
    z.backward();
    (void)take_grads({x});
  }
  CHECK(meter.allocated() == 0);
}

TEST_CASE("outside of a region and without grad mode keep is the plain call", "[torch][region][keep]") {
  auto const x = torch::ones({4}).requires_grad_(true);
  int runs = 0;
  auto const f = [&](Tensor const& a) { return cl::keep([&] { return ++runs, a.exp(); }).sin(); };
  f(x).sum().backward();
  CHECK(runs == 1);
  torch::NoGradGuard const off;
  CHECK_FALSE(checkpoint(f, x).requires_grad());
  CHECK(runs == 2);
}

TEST_CASE("what is kept and changed in place afterwards is kept as it was", "[torch][region][keep]") {
  auto const x = torch::ones({4}).requires_grad_(true);
  auto const f = [](Tensor const& a) {
    auto h = cl::keep([&] { return a * 2; });
    auto const g = h + 1;
    h.add_(1);
    return h.sin() * g.exp();
  };
  f(x).sum().backward();
  auto const expected = take_grads({x});
  checkpoint(f, x).sum().backward();
  CHECK(same_bits(expected, take_grads({x})));
}

}  // namespace region_keep_tests
