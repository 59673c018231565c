// SPDX-License-Identifier: Apache-2.0
// Two libraries with hidden visibility and regions of their own, loaded into one program without a name in common.
#include "support/torch.hpp"
#include "support/two_threads.hpp"
#include <barrier>
#include <functional>
#include <string>
#include <string_view>
#include <vector>
#ifdef CAIRN_REGION_LIBRARIES
#include <dlfcn.h>
#endif
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/checkpoint/region.hpp>

namespace libraries_tests {
using at::Tensor;
using cl::checkpoint;
using Catch::Matchers::ContainsSubstring;
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
    CHECK(outer_runs == 2);
    outer_runs = 0;
    auto const nested = [&](Tensor const& a) { return inner(inner(a, same, inner_runs), same, inner_runs); };
    cl::byte_meter const meter;
    auto const y = outer(x, nested, outer_runs);
    CHECK(meter.allocated() < 2 * std::int64_t(x.nbytes()));  // the result, the state of the generator and no tape
    y.sum().backward();
    CHECK(same_bits(take_grads({x}), expected_nested));
    CHECK(outer_runs == 2);
    CHECK(inner_runs >= 4);
  };
  check(one, two);
  check(two, one);
  check(two, two);

  // This program is a third one, and has its own regions in and around theirs.
  int runs = 0;
  auto const outside = [&](Tensor const& a) { return plain(a, [&](Tensor const& b) { return one(b, same, runs); }); };
  checkpoint(outside, x).sum().backward();
  auto const third = take_grads({x});
  CHECK(runs >= 2);
  plain(x, [&](Tensor const& b) { return plain(b, same); }).sum().backward();
  CHECK(same_bits(third, take_grads({x})));
  two(x, [&](Tensor const& a) { return checkpoint(same, a); }, runs).sum().backward();
  CHECK(same_bits(take_grads({x}), expected));
#endif
}

TEST_CASE("regions of two libraries that draw random numbers in two threads at once are refused",
          "[torch][region][rng][threads][libraries]") {
#ifndef CAIRN_REGION_LIBRARIES
  CAIRN_SKIP("no shared libraries were built beside this program");
#else
  library const libraries[]{library{"one"}, library{"two"}};
  auto const x = torch::ones({64}, torch::requires_grad());
  std::barrier<> meet{2};
  auto const words = support::said_in_two_threads<cairn::invalid_call>(
      [&](int k) { (void)libraries[k].masked(x, [&] { meet.arrive_and_wait(); }); });
  for (auto const& one : words) CHECK_THAT(one, ContainsSubstring(support::drawn_at_once));
  support::meetings const met{100, [&](int k) {
                                auto const mine = torch::ones({64}, torch::requires_grad());
                                auto const y = libraries[k].masked(mine, [] {});
                                y.sum().backward();
                                return same_bits(mine.grad(), y);
                              }};
  CAPTURE(met.right.load(), met.refused.load());
  CHECK(met.wrong == 0);
  CHECK(met.right + met.refused == 200);
#endif
}

TEST_CASE("where one library of a program has policies, another one is refused, and its regions without one go on",
          "[torch][region][policy][libraries]") {
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
  here().sum().backward();  // from now on this program is the one
  CHECK(same_bits(take_grads({x}), expected));
  for (auto const& other : {std::cref(one), std::cref(two)}) {
    auto const said = support::message_of([&] { (void)other.get().under_policy(x); });
    CHECK_THAT(said, ContainsSubstring("another library of this program intercepts operators already"));
    CHECK_THAT(said, ContainsSubstring("let one library run the regions with a policy"));
    int runs = 0;
    other.get()(x, f, runs).sum().backward();
    CHECK(runs == 2);
    (void)take_grads({x});
  }
  here().sum().backward();
  CHECK(same_bits(take_grads({x}), expected));
#endif
}

}  // namespace libraries_tests
