// SPDX-License-Identifier: Apache-2.0
// Two libraries with hidden visibility and regions of their own, loaded into one program without a name in common.
#include "support/torch.hpp"
#include "support/two_threads.hpp"
#include <functional>
#include <string>
#include <string_view>
#include <vector>
#ifdef CAIRN_REGION_LIBRARIES
#include <dlfcn.h>
#endif
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/record/region.hpp>

namespace libraries_tests {
using at::Tensor;
using cl::checkpoint;
using support::same_bits;
using support::take_grads;
using function = std::function<Tensor(Tensor const&)>;

Tensor plain(Tensor const& x, function const& inside) { return inside(x.sin()).exp(); }

#ifdef CAIRN_REGION_LIBRARIES
/// One of the libraries, loaded so that no other one sees its names. It stays: the engine in it may be the one at work.
class library {
 public:
  explicit library(std::string const& name)
      : handle_{dlopen((CAIRN_REGION_LIBRARIES "/libregions_" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL)} {
    if (!handle_) FAIL(dlerror());
    region_ = reinterpret_cast<decltype(region_)>(dlsym(handle_, "region_of_library"));
    engine_ = reinterpret_cast<decltype(engine_)>(dlsym(handle_, "engine_of_library"));
    policy_ = reinterpret_cast<decltype(policy_)>(dlsym(handle_, "policy_of_library"));
    drawing_ = reinterpret_cast<decltype(drawing_)>(dlsym(handle_, "drawing_region_of_library"));
    if (!region_ || !engine_ || !policy_ || !drawing_) FAIL("the library " + name + " has no such function");
  }
  [[nodiscard]] Tensor operator()(Tensor const& x, function const& inside, int& runs) const {
    Tensor y;
    region_(x, inside, runs, y);
    return y;
  }
  [[nodiscard]] void const* engine() const { return engine_(); }
  /// The exponential of the sine, in a region with a policy.
  [[nodiscard]] Tensor under_policy(Tensor const& x) const {
    Tensor y;
    policy_(x, y);
    return y;
  }

  /// x times a mask, in a region.
  [[nodiscard]] Tensor masked(Tensor const& x, std::function<void()> const& on_run) const {
    Tensor y;
    drawing_(x, on_run, y);
    return y;
  }

 private:
  void* handle_;
  void (*region_)(Tensor const&, function const&, int&, Tensor&) = nullptr;
  void const* (*engine_)() = nullptr;
  void (*policy_)(Tensor const&, Tensor&) = nullptr;
  void (*drawing_)(Tensor const&, std::function<void()> const&, Tensor&) = nullptr;
};
#endif

TEST_CASE("two libraries with hidden visibility share the hooks of one engine, nested regions included",
          "[torch][region][libraries]") {
#ifndef CAIRN_REGION_LIBRARIES
  CAIRN_SKIP("no shared libraries were built beside this program");
#else
  library const one{"one"}, two{"two"};
  REQUIRE(one.engine() != two.engine());
  REQUIRE(one.engine() != &cl::detail::hook_engine::instance());
  auto const x = torch::randn({1 << 12}).requires_grad_(true);
  auto const same = [](Tensor const& a) { return a.tanh(); };
  plain(x, same).sum().backward();
  auto const expected = take_grads({x});
  plain(x, [&](Tensor const& a) { return plain(plain(a, same), same); }).sum().backward();
  auto const expected_nested = take_grads({x});

  auto const check = [&](library const& outer, library const& inner) {
    int outer_runs = 0, inner_runs = 0;
    outer(x, same, outer_runs).sum().backward();
    CHECK(same_bits(take_grads({x}), expected));
    CHECK(outer_runs == 1);
    outer_runs = 0;
    auto const nested = [&](Tensor const& a) { return inner(inner(a, same, inner_runs), same, inner_runs); };
    cl::byte_meter const meter;
    auto const y = outer(x, nested, outer_runs);
    // The result; where the libraries differ, one region does not see into the other, and holds its results.
    CHECK(meter.allocated() < (&outer == &inner ? 2 : 5) * std::int64_t(x.nbytes()));
    y.sum().backward();
    CHECK(same_bits(take_grads({x}), expected_nested));
    CHECK(outer_runs == 1);
    CHECK(inner_runs == 2);
    inner_runs = 0;
  };
  check(one, two);
  check(two, one);
  check(two, two);

  // This program is a third one, and has its own regions in and around theirs.
  int runs = 0;
  auto const outside = [&](Tensor const& a) { return plain(a, [&](Tensor const& b) { return one(b, same, runs); }); };
  checkpoint(outside, x).sum().backward();
  auto const third = take_grads({x});
  CHECK(runs == 1);
  plain(x, [&](Tensor const& b) { return plain(b, same); }).sum().backward();
  CHECK(same_bits(third, take_grads({x})));
  two(x, [&](Tensor const& a) { return checkpoint(same, a); }, runs).sum().backward();
  CHECK(same_bits(take_grads({x}), expected));
#endif
}

TEST_CASE("regions of two libraries that draw random numbers in two threads at once have their own",
          "[torch][region][rng][threads][libraries]") {
#ifndef CAIRN_REGION_LIBRARIES
  CAIRN_SKIP("no shared libraries were built beside this program");
#else
  library const libraries[]{library{"one"}, library{"two"}};
  support::meetings const met{100, [&](int k) {
                                auto const mine = torch::ones({64}, torch::requires_grad());
                                auto const y = libraries[k].masked(mine, [] {});
                                y.sum().backward();
                                return same_bits(mine.grad(), y);
                              }};
  CHECK(met.right == 200);
#endif
}

TEST_CASE("all libraries of a program may have policies", "[torch][region][policy][libraries]") {
#ifndef CAIRN_REGION_LIBRARIES
  CAIRN_SKIP("no shared libraries were built beside this program");
#else
  library const one{"one"}, two{"two"};
  auto const x = torch::randn({16}).requires_grad_(true);
  auto const f = [](Tensor const& a) { return a.sin().exp(); };
  f(x).sum().backward();
  auto const expected = take_grads({x});
  auto const all = [](std::string_view) { return cl::CheckpointPolicy::PreferSave; };
  auto const here = [&] { return checkpoint(f, x, cl::CheckpointOptions().policy(all)); };
  for (int round = 0; round < 2; ++round) {
    here().sum().backward();
    CHECK(same_bits(take_grads({x}), expected));
    for (auto const& other : {std::cref(one), std::cref(two)}) {
      other.get().under_policy(x).sum().backward();
      CHECK(same_bits(take_grads({x}), expected));
    }
  }
#endif
}

}  // namespace libraries_tests
