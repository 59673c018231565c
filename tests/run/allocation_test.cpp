// SPDX-License-Identifier: Apache-2.0
// Memory: every allocation of a sweep may fail, and a warm sweep makes none. This program replaces operator new.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <vector>
#include <cairn/run/check/check_adjoint.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/graph.hpp>
#include <cairn/run/loop.hpp>
#include <cairn/run/with/nested.hpp>
#include <cairn/schedule/action_list.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/uniform.hpp>
#include "support/catch.hpp"
#include "support/kernels.hpp"

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct {
  bool watched = false;
  std::int64_t asked = 0;
  std::int64_t failing = never;
  std::int64_t standing = 0;  // blocks, watched or not
} heap;

/// Counts the allocations made while it lives, and makes one of them fail.
struct heap_watch {
  explicit heap_watch(std::int64_t failing = never) {
    heap.watched = true;
    heap.asked = 0;
    heap.failing = failing;
  }
  heap_watch(heap_watch const&) = delete;
  ~heap_watch() { heap.watched = false; }
};

void* allocate(std::size_t size, std::size_t alignment) {
  if (heap.watched && heap.asked++ == heap.failing) throw std::bad_alloc{};
  std::size_t const whole = (size + alignment - 1) / alignment * alignment;
  void* const block = std::aligned_alloc(alignment, whole > 0 ? whole : alignment);
  if (block == nullptr) throw std::bad_alloc{};
  ++heap.standing;
  return block;
}
void* allocate_or_null(std::size_t size, std::size_t alignment) noexcept {
  try {
    return allocate(size, alignment);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}
void give_back(void* block) noexcept {
  if (block == nullptr) return;
  --heap.standing;
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new[](std::size_t size) { return allocate(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, std::align_val_t alignment) { return allocate(size, std::size_t(alignment)); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return allocate(size, std::size_t(alignment)); }
void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  return allocate_or_null(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new[](std::size_t size, std::nothrow_t const&) noexcept {
  return allocate_or_null(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void* operator new(std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  return allocate_or_null(size, std::size_t(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, std::nothrow_t const&) noexcept {
  return allocate_or_null(size, std::size_t(alignment));
}
void operator delete(void* block) noexcept { give_back(block); }
void operator delete[](void* block) noexcept { give_back(block); }
void operator delete(void* block, std::size_t) noexcept { give_back(block); }
void operator delete[](void* block, std::size_t) noexcept { give_back(block); }
void operator delete(void* block, std::align_val_t) noexcept { give_back(block); }
void operator delete[](void* block, std::align_val_t) noexcept { give_back(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { give_back(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { give_back(block); }

namespace {

using cairn::any_schedule;
using cairn::step_index;
using kernels::vec2;

constexpr step_index n = 30;

/// Aligned more strictly than plain operator new promises.
struct alignas(64) aligned_pair {
  vec2 numbers;
  [[nodiscard]] double* data() { return numbers.data(); }
  [[nodiscard]] double const* data() const { return numbers.data(); }
};

/// The two numbers of the kernel in states of several kinds.
template <class State> State initial_state();
template <> vec2 initial_state() { return kernels::start; }
template <> aligned_pair initial_state() { return {kernels::start}; }
template <> std::vector<double> initial_state() {
  std::vector<double> x(50);
  x[0] = kernels::start[0];
  x[1] = kernels::start[1];
  return x;
}

// Of every form, for every kind of state. None of them allocates, but for the by-value step of a state on the heap.
constexpr auto in_place = [](auto& x, step_index i) { kernels::step(x.data(), i); };
template <class State>
struct by_value {
  State operator()(State const& x, step_index i) const {
    State y = x;
    kernels::step(y.data(), i);
    return y;
  }
};
template <class State>
struct out_of_place {
  void operator()(State const& x, State& y, step_index i) const {
    y = x;
    kernels::step(y.data(), i);
  }
};

constexpr auto seed = [](auto const& last) { return kernels::seed(last.data()); };
constexpr auto one_step = [](auto const& x, vec2& bar, step_index i) { kernels::adjoint(x.data(), bar.data(), i); };
template <class State>
struct with_next {
  void operator()(State const& x, State const&, vec2& bar, step_index i) const {
    kernels::adjoint(x.data(), bar.data(), i);
  }
};
template <class State>
struct leaf {
  void operator()(State const& x, vec2& bar, step_index first, step_index last) const {
    std::array<vec2, std::size_t(n)> inside{{{x.data()[0], x.data()[1]}}};
    for (step_index k = 1; k < last - first; ++k) {
      vec2& next = inside[std::size_t(k)] = inside[std::size_t(k - 1)];
      kernels::step(next.data(), first + k - 1);
    }
    for (step_index i = last; i-- > first;) kernels::adjoint(inside[std::size_t(i - first)].data(), bar.data(), i);
  }
};
struct tape {
  vec2 before;
  step_index i;
};
template <class State>
auto recording() {
  return cairn::recorded{[](State& x, step_index i) {
                           tape const kept{{x.data()[0], x.data()[1]}, i};
                           kernels::step(x.data(), i);
                           return kept;
                         },
                         [](tape const& kept, vec2& bar) { kernels::adjoint(kept.before.data(), bar.data(), kept.i); }};
}

/// Lets allocation 0, 1, 2 ... of `sweep(work)` fail until none is left, and uses each workspace again.
template <class Work, class Sweep>
void survives_every_failure(Sweep sweep) {
  auto const expected = kernels::gradient(n);
  bool failed = true;
  std::int64_t k = 0;
  for (; failed; ++k) {
    CAPTURE(k);
    failed = false;
    vec2 first{}, second{};
    std::int64_t left = 0;
    {
      std::int64_t const standing = heap.standing;
      {
        Work work;
        try {
          heap_watch const watch{k};
          first = sweep(work);
        } catch (std::bad_alloc const&) {
          failed = true;
        }
        second = sweep(work);
      }
      left = heap.standing - standing;
    }
    if (!failed) CHECK(first == expected);
    CHECK(second == expected);
    CHECK(left == 0);
  }
  CHECK(k > 2);
}

template <class State, class Plan, class Step, class Adjoint>
void gradient_survives(Plan const& plan, Step step, Adjoint adjoint) {
  CAPTURE(plan.slots());
  State const x0 = initial_state<State>();
  survives_every_failure<cairn::workspace<State, Plan>>(
      [&](auto& work) { return cairn::gradient(step, x0, plan, seed, adjoint, work); });
}

/// The allocations of the second of two equal sweeps.
template <class Sweep>
std::int64_t warm_allocations(Sweep sweep) {
  auto const expected = kernels::gradient(n);
  CHECK(sweep() == expected);
  vec2 second{};
  {
    heap_watch const watch;
    second = sweep();
  }
  CHECK(second == expected);
  return heap.asked;
}

template <class State, class Plan, class Step, class Adjoint>
void warm_gradient_allocates_nothing(Plan const& plan, Step step, Adjoint adjoint) {
  CAPTURE(plan.slots());
  State const x0 = initial_state<State>();
  cairn::workspace<State, Plan> work;
  CHECK(warm_allocations([&] { return cairn::gradient(step, x0, plan, seed, adjoint, work); }) == 0);
}

/// Calls check(plan) for plans with leaf 1, of two types: what cursors of each kind allocate is another test's.
template <class Check>
void on_plans(Check check) {
  check(cairn::revolve{n, 4});
  check(cairn::revolve{n, 3, {.free_initial = true}});
  check(any_schedule{cairn::revolve{n, 4}});
  check(any_schedule{cairn::uniform{n}});
  check(any_schedule{cairn::store_all(n)});
}
/// The same for plans with leaves.
template <class Check>
void on_leaf_plans(Check check) {
  check(any_schedule{cairn::leaves{n, 7, cairn::revolve{5, 2}}});
  check(any_schedule{cairn::leaves{n, 4, cairn::store_all(8)}});
}

}  // namespace

TEST_CASE("the replaced operator new counts and fails, plain and aligned") {
  std::int64_t const standing = heap.standing;
  {
    heap_watch const watch;
    ::operator delete(::operator new(1));
    ::operator delete[](::operator new[](1));
    ::operator delete(::operator new(1, std::align_val_t{64}), std::align_val_t{64});
  }
  std::int64_t const asked = heap.asked;
  bool failed = false;
  try {
    heap_watch const watch{1};
    std::vector<int> const one(1);
    std::vector<aligned_pair> const two(1);
  } catch (std::bad_alloc const&) {
    failed = true;
  }
  std::int64_t const left = heap.standing - standing;
  CHECK(asked == 3);
  CHECK(failed);
  CHECK(left == 0);
}

TEMPLATE_TEST_CASE("a gradient survives every allocation that fails", "", std::vector<double>, aligned_pair) {
  on_plans([](auto const& plan) {
    gradient_survives<TestType>(plan, in_place, one_step);
    gradient_survives<TestType>(plan, by_value<TestType>{}, one_step);
    gradient_survives<TestType>(plan, out_of_place<TestType>{}, with_next<TestType>{});
    gradient_survives<TestType>(plan, in_place, recording<TestType>());
  });
  on_leaf_plans([](auto const& plan) {
    gradient_survives<TestType>(plan, in_place, cairn::leaf(leaf<TestType>{}));
    gradient_survives<TestType>(plan, out_of_place<TestType>{}, cairn::leaf(leaf<TestType>{}));
  });
}

TEMPLATE_TEST_CASE("a run survives every allocation that fails", "", std::vector<double>, aligned_pair) {
  TestType const x0 = initial_state<TestType>();
  auto const check = [&](auto const& plan, auto step) {
    CAPTURE(plan.slots());
    using work_type = cairn::workspace<TestType, std::remove_cvref_t<decltype(plan)>>;
    survives_every_failure<work_type>([&](auto& work) {
      auto run = cairn::checkpointed_loop(step, x0, plan, work);
      auto bar = run.reverse(seed, one_step);
      if (run.reverse(seed, with_next<TestType>{}) != bar) bar = {};
      double const* const last = run.final_state().data();
      for (auto [i, x] : run.backward())
        if (i == n && x.data() != last) bar = {};
      auto const middle = run.at(n / 2);
      if (kernels::states(n / 2).back() != vec2{middle.data()[0], middle.data()[1]}) bar = {};
      return bar;
    });
  };
  on_plans([&](auto const& plan) {
    check(plan, in_place);
    check(plan, by_value<TestType>{});
    check(plan, out_of_place<TestType>{});
  });
}

TEST_CASE("a run whose second reverse lacks memory can be reversed a third time") {
  auto const x0 = initial_state<std::vector<double>>();
  auto const expected = kernels::gradient(n);
  bool failed = true;
  for (std::int64_t k = 0; failed; ++k) {
    CAPTURE(k);
    failed = false;
    auto run = cairn::checkpointed_loop(by_value<std::vector<double>>{}, x0, cairn::revolve{n, 4});
    CHECK(run.reverse(seed, one_step) == expected);
    try {
      heap_watch const watch{k};
      (void)run.reverse(seed, one_step);
    } catch (std::bad_alloc const&) {
      failed = true;
    }
    CHECK(run.reverse(seed, one_step) == expected);
  }
}

TEMPLATE_TEST_CASE("a workspace that lacks memory for a larger plan serves smaller and larger ones afterwards", "",
                   cairn::revolve, any_schedule) {
  using state = std::vector<double>;
  state const x0 = initial_state<state>();
  TestType const small = cairn::revolve{n, 3}, large = cairn::revolve{n, 9};
  auto const check = [&](auto sweep) {
    auto const expected = kernels::gradient(n);
    bool failed = true;
    std::int64_t k = 0;
    for (; failed; ++k) {
      CAPTURE(k);
      failed = false;
      cairn::workspace<state, TestType> work;
      CHECK(sweep(small, work) == expected);
      try {
        heap_watch const watch{k};
        (void)sweep(large, work);
      } catch (std::bad_alloc const&) {
        failed = true;
      }
      for (auto const* plan : {&small, &large, &small}) CHECK(sweep(*plan, work) == expected);
    }
    CHECK(k > 2);
  };
  check([&](TestType const& plan, auto& work) { return cairn::gradient(in_place, x0, plan, seed, one_step, work); });
  check([&](TestType const& plan, auto& work) {
    return cairn::checkpointed_loop(in_place, x0, plan, work).reverse(seed, one_step);
  });
}

TEST_CASE("a loop in a loop survives every allocation that fails") {
  using state = std::vector<double>;
  struct step {
    void operator()(state& x, step_index i) const { kernels::step(x.data(), i); }
  };
  struct memory {
    cairn::workspace<state, cairn::revolve> outer;
    decltype(cairn::nested{cairn::revolve{6, 2}, step{}, one_step}) loop{cairn::revolve{6, 2}, step{}, one_step};
  };
  state const x0 = initial_state<state>();
  survives_every_failure<memory>([&](auto& work) {
    return cairn::gradient(work.loop.step, x0, cairn::revolve{5, 2}, seed, work.loop.adjoint, work.outer);
  });
}

TEST_CASE("a graph in a workspace survives every allocation that fails") {
  using field = std::vector<double>;
  namespace reads = cairn::adjoint_reads;
  cairn::graph_builder net;
  auto const x = net.input<field>();
  auto last = x;
  for (int k = 0; k < 3; ++k) {
    auto const square = net.add(
        reads::inputs | reads::tape<aligned_pair>,
        [](field const& v, aligned_pair* twice) {
          if (twice != nullptr) twice->data()[0] = 2 * v[0], twice->data()[1] = 2 * v[1];
          return field{v[0] * v[0], v[1] * v[1]};
        },
        [](field const&, aligned_pair const& twice, field const& bar, cairn::graph_adjoint<field>& sum) {
          sum += field{bar[0] * twice.data()[0], bar[1] * twice.data()[1]};
        },
        last);
    auto const turned = net.view([](field const& v) { return field{v[1], v[0]}; },
                                 [](field const& bar, cairn::graph_adjoint<field>& sum) {
                                   sum += field{bar[1], bar[0]};
                                 },
                                 square);
    last = net.add(
        reads::nothing, [](field const& a, field const& b) { return field{a[0] - b[0] / 3, a[1] - b[1] / 3}; },
        [](field const& bar, cairn::graph_adjoint<field>& asum, cairn::graph_adjoint<field>& bsum) {
          asum += bar;
          bsum += field{-bar[0] / 3, -bar[1] / 3};
        },
        turned, last);
  }
  using namespace cairn::graph_actions;
  std::vector<cairn::action> const keeping{record(0), advance(1), record(2), advance(3), record(4),
                                           advance(5), turn(6),   reverse(5), reverse(4), reverse(3),
                                           reverse(2), reverse(1), reverse(0)},
      again{advance(0), advance(1), drop(0), record(2), advance(3), record(4), advance(5), turn(6), reverse(5),
            reverse(4), reverse(3), reverse(2), reverse(1), record(0), reverse(0)};
  field const x0{0.7, -0.6}, bar{1.0, 2.0};
  std::vector<cairn::graph_binding> const inputs{x.is(x0)};
  std::vector<cairn::graph_seed> const seeds{last.seed(bar)};
  field const expected = cairn::graph_gradient(net, inputs, keeping, seeds).of(x);
  auto const check = [&](auto sweep) {
    bool failed = true;
    std::int64_t k = 0;
    for (; failed; ++k) {
      CAPTURE(k);
      failed = false;
      bool same = true;
      std::int64_t const standing = heap.standing;
      {
        cairn::graph_workspace work;
        try {
          heap_watch const watch{k};
          same = sweep(work).of(x) == expected;
        } catch (std::bad_alloc const&) {
          failed = true;
        } catch (cairn::out_of_memory const&) {
          failed = true;
        }
        same = same && sweep(work).of(x) == expected;
      }
      std::int64_t const left = heap.standing - standing;
      CHECK(same);
      CHECK(left == 0);
    }
    CHECK(k > 50);
  };
  for (auto const* plan : {&keeping, &again})
    for (cairn::replay_check const verify : {cairn::replay_check::off, cairn::replay_check::every_step})
      check([&](auto& work) {
        return cairn::graph_gradient(net, inputs, *plan, seeds, work, cairn::sweep_options{.verify = verify});
      });
}

TEMPLATE_TEST_CASE("a warm sweep of an in-place step allocates nothing", "", vec2, aligned_pair, std::vector<double>) {
  on_plans([](auto const& plan) {
    warm_gradient_allocates_nothing<TestType>(plan, in_place, one_step);
    warm_gradient_allocates_nothing<TestType>(plan, in_place, with_next<TestType>{});
    warm_gradient_allocates_nothing<TestType>(plan, in_place, recording<TestType>());
  });
  on_leaf_plans([](auto const& plan) {
    warm_gradient_allocates_nothing<TestType>(plan, in_place, cairn::leaf(leaf<TestType>{}));
  });
}

TEMPLATE_TEST_CASE("a warm sweep of an out-of-place step allocates nothing", "", vec2, aligned_pair,
                   std::vector<double>) {
  on_plans([](auto const& plan) {
    warm_gradient_allocates_nothing<TestType>(plan, out_of_place<TestType>{}, one_step);
    warm_gradient_allocates_nothing<TestType>(plan, out_of_place<TestType>{}, with_next<TestType>{});
    warm_gradient_allocates_nothing<TestType>(plan, out_of_place<TestType>{}, recording<TestType>());
  });
  on_leaf_plans([](auto const& plan) {
    warm_gradient_allocates_nothing<TestType>(plan, out_of_place<TestType>{}, cairn::leaf(leaf<TestType>{}));
  });
}

TEMPLATE_TEST_CASE("a warm sweep of a by-value step into inline states allocates nothing", "", vec2, aligned_pair) {
  on_plans([](auto const& plan) {
    warm_gradient_allocates_nothing<TestType>(plan, by_value<TestType>{}, one_step);
    warm_gradient_allocates_nothing<TestType>(plan, by_value<TestType>{}, with_next<TestType>{});
    warm_gradient_allocates_nothing<TestType>(plan, by_value<TestType>{}, recording<TestType>());
  });
  on_leaf_plans([](auto const& plan) {
    warm_gradient_allocates_nothing<TestType>(plan, by_value<TestType>{}, cairn::leaf(leaf<TestType>{}));
  });
}

TEST_CASE("a warm sweep of a plan that keeps tapes allocates nothing") {
  using enum cairn::action_kind;
  auto const memory = cairn::tier::memory;
  auto const state = cairn::content::state, taped = cairn::content::tape;
  std::vector<cairn::action> actions;  // all tapes are kept, but for the last step's
  for (step_index i = 0; i + 1 < n; ++i) actions.push_back({record, memory, taped, i, i, i + 1});
  actions.push_back({turn, memory, state, cairn::no_slot, n - 1, n});
  actions.push_back({reverse, memory, state, cairn::no_slot, n - 1, n});
  for (step_index i = n - 1; i-- > 0;) {
    actions.push_back({reverse, memory, taped, i, i, i + 1});
    actions.push_back({drop, memory, taped, i, 0, 0});
  }
  cairn::action_list const plan{n, 0, actions.data(), actions.size(), {.tapes = n - 1}};
  warm_gradient_allocates_nothing<vec2>(plan, in_place, recording<vec2>());
}

TEST_CASE("a check of an adjoint gives back all that it took") {
  auto const standing = heap.standing;
  {
    auto const report = cairn::check_adjoint([](std::vector<double>& x) { x[0] = 0.9 * x[0] * x[1]; },
                                             [](std::vector<double> const& x, std::vector<double>& bar) {
                                               bar = {0.9 * x[1] * bar[0], bar[1] + 0.9 * x[0] * bar[0]};
                                             },
                                             std::vector<double>{0.5, 0.75}, 20);
    CHECK(report.passed());
  }
  CHECK(heap.standing == standing);
}

TEST_CASE("a second sweep of a loop in a loop allocates nothing") {
  vec2 const x0 = kernels::start;
  cairn::revolve const outer_plan{5, 2};
  auto const step = [](vec2& x, step_index i) { kernels::step(x.data(), i); };
  cairn::workspace<vec2, cairn::revolve> work;
  cairn::nested inner{cairn::revolve{6, 2}, step, one_step};
  CHECK(warm_allocations([&] { return cairn::gradient(inner.step, x0, outer_plan, seed, inner.adjoint, work); }) == 0);

  cairn::nested innermost{cairn::store_all(3), step, one_step};
  cairn::nested middle{cairn::uniform{2}, innermost.step, innermost.adjoint};
  CHECK(warm_allocations([&] { return cairn::gradient(middle.step, x0, outer_plan, seed, middle.adjoint, work); }) ==
        0);
}

TEMPLATE_TEST_CASE("reversing a run again, or walking it backwards again, allocates nothing", "", vec2,
                   std::vector<double>) {
  TestType const x0 = initial_state<TestType>();
  on_plans([&](auto const& plan) {
    CAPTURE(plan.slots());
    auto run = cairn::checkpointed_loop(out_of_place<TestType>{}, x0, plan);
    CHECK(warm_allocations([&] { return run.reverse(seed, one_step); }) == 0);
    CHECK(warm_allocations([&] { return run.reverse(seed, with_next<TestType>{}); }) == 0);
    CHECK(warm_allocations([&] {
            vec2 bar{};
            for (auto [i, x] : run.backward())
              if (i == n) bar = seed(x);
              else one_step(x, bar, i);
            return bar;
          }) == 0);
  });
}

TEMPLATE_TEST_CASE("a loop that runs in a warm workspace and is reversed allocates nothing", "", vec2,
                   std::vector<double>) {
  TestType const x0 = initial_state<TestType>();
  on_plans([&](auto const& plan) {
    CAPTURE(plan.slots());
    cairn::workspace<TestType, std::remove_cvref_t<decltype(plan)>> work;
    CHECK(warm_allocations(
              [&] { return cairn::checkpointed_loop(in_place, x0, plan, work).reverse(seed, one_step); }) == 0);
  });
}
