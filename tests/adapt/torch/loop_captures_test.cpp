// SPDX-License-Identifier: Apache-2.0
#include "support/tensor_verbs.hpp"
#include "support/torch.hpp"
#include <cairn/adapt/torch/loop/loop.hpp>
#include <functional>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace loop_captures_tests {

using at::Tensor;
using cl::Capture;
using cl::LoopOptions;
using Catch::Matchers::ContainsSubstring;
using support::said;
using support::same_bits;

Tensor leaf(double value) { return torch::full({3}, value, torch::dtype(torch::kDouble).requires_grad(true)); }

TEST_CASE("a step that reads an earlier state is refused, however captures are found", "[torch][captures]") {
  constexpr auto early = "the step reads a state of its own loop, but not from its argument (step = ";
  auto const x = leaf(0.5), w = leaf(0.9);
  for (bool const derived : {false, true})
    for (auto const capture : {Capture::FirstStep, Capture::EveryStep})
      for (int const size : {1, 2, 4}) {
        Tensor previous = x.detach();
        auto const step = [&](Tensor const& s) {
          auto const next = (s * w + previous).sin();
          previous = derived ? s * w : s;
          return next;
        };
        auto const words = said<cairn::invalid_call>([&] {
          cl::checkpointed_loop(step, x, 6, LoopOptions().capture(capture).block_size(size)).sum().backward();
        });
        CHECK_THAT(words, ContainsSubstring(early) || ContainsSubstring("that it did not read the first time"));
        CHECK_THAT(words, !ContainsSubstring("EveryStep"));
        CHECK_FALSE(x.grad().defined());
      }
  using both = std::tuple<Tensor, Tensor>;  // what the message says works
  auto const step = [&](both const& s) { return both{(std::get<0>(s) * w + std::get<1>(s)).sin(), std::get<0>(s)}; };
  both plain{x, x};
  for (int i = 0; i < 6; ++i) plain = step(plain);
  std::get<0>(plain).sum().backward();
  auto const right = support::take_grads({x, w});
  std::get<0>(cl::checkpointed_loop(step, both{x, x}, 6, LoopOptions().capture(Capture::EveryStep))).sum().backward();
  auto const grads = support::take_grads({x, w});
  for (std::size_t k = 0; k < 2; ++k) CHECK(torch::allclose(grads[k], right[k], 1e-13, 0));
}

TEST_CASE("a step that reads an earlier state without its history is refused where anything is differentiated",
          "[torch][captures]") {
  constexpr auto early = "the step reads a state of its own loop, but not from its argument (step = ";
  auto const w = leaf(0.9);
  for (bool const differentiable : {true, false})
    for (int const lag : {1, 2, 3})
      for (int const size : {1, 4}) {
        auto const x = differentiable ? leaf(0.5) : leaf(0.5).detach();
        std::vector<Tensor> all;
        auto const step = [&](Tensor const& s) {
          all.push_back(s.detach());
          auto const back = all.size() > std::size_t(lag) ? all[all.size() - 1 - std::size_t(lag)] : x.detach();
          return (s * w.detach() + back).sin();
        };
        auto const run = [&] {
          return cl::checkpointed_loop(step, x, 12, LoopOptions().checkpoints(2).block_size(size));
        };
        if (differentiable) {
          CHECK_THAT(said<cairn::invalid_call>([&] { (void)run(); }), ContainsSubstring(early));
          continue;
        }
        auto const y = run();  // nothing runs again
        all.clear();
        auto plain = x;
        for (int i = 0; i < 12; ++i) plain = step(plain);
        CHECK(same_bits(y, plain));
      }
  // the initial state, and what a step was given as a part of its state from outside, may be read
  auto const x = leaf(0.5), table = leaf(0.3).detach();
  using both = std::tuple<Tensor, Tensor>;
  auto const step = [&](both const& s) { return both{(std::get<0>(s) * w + x.detach() * table).sin(), table}; };
  both plain{x, x};
  for (int i = 0; i < 6; ++i) plain = step(plain);
  std::get<0>(plain).sum().backward();
  auto const right = support::take_grads({x, w});
  std::get<0>(cl::checkpointed_loop(step, both{x, x}, 6, LoopOptions())).sum().backward();
  CHECK(same_bits(support::take_grads({x, w}), right));
}

constexpr auto elsewhere_read = "the step reads a state of its own loop, but not from its argument (step = ";

auto const verbs = support::tensor_verbs(20);

TEST_CASE("a state that one step puts aside, and later ones read, is refused by all verbs", "[torch][captures]") {
  auto const w = leaf(0.9);
  for (auto const& verb : verbs)
    for (auto const capture : {Capture::FirstStep, Capture::EveryStep, Capture::Explicit})
      for (cairn::step_index const at : {1, 3, 7, 10, 12, 15})
        for (bool const derived : {false, true}) {
          auto const x = leaf(0.5);
          Tensor aside;
          auto const f = [&](Tensor const& s, cairn::step_index i) {
            auto y = (s * w).sin();
            if (i > at) y = y + aside;
            if (i == at) aside = derived ? y : s;
            return y;
          };
          auto options = LoopOptions().checkpoints(3).capture(capture);
          if (capture == Capture::Explicit) options.captures({w});
          CAPTURE(int(capture), at, derived);
          CHECK_THAT(said<cairn::invalid_call>([&] { verb(f, x, options).sum().backward(); }),
                     ContainsSubstring(elsewhere_read));
        }
}

TEST_CASE("a step that reads its state from an object of its own, and not from its argument, is refused by all verbs",
          "[torch][captures]") {
  auto const w = leaf(0.9);
  for (auto const& verb : verbs)
    for (auto const capture : {Capture::FirstStep, Capture::EveryStep})
      for (int const size : {1, 4})
        for (bool const history : {true, false}) {
          auto const x = leaf(0.5);
          Tensor own = x;
          auto const f = [&](Tensor const&, cairn::step_index) {
            return own = ((history ? own : own.detach()) * w).sin();
          };
          auto const options = LoopOptions().checkpoints(2).capture(capture).block_size(size);
          CAPTURE(int(capture), size, history);
          CHECK_THAT(said<cairn::invalid_call>([&] { verb(f, x, options).sum().backward(); }),
                     ContainsSubstring(elsewhere_read));
        }
  // the argument through views of it, and a part that is only carried along
  using both = std::tuple<Tensor, Tensor>;
  auto const x = leaf(0.5), table = leaf(0.3).detach();
  auto const f = [&](both const& s) {
    auto const& [h, carried] = s;
    auto const rows = h.view({3, 1}).unbind();
    return both{(torch::stack(rows).view({3}) * w + h.detach() * table * carried).sin(), carried};
  };
  both plain{x, table};
  for (int i = 0; i < 9; ++i) plain = f(plain);
  std::get<0>(plain).sum().backward();
  auto const right = support::take_grads({x, w});
  for (auto const capture : {Capture::FirstStep, Capture::EveryStep}) {
    std::get<0>(cl::checkpointed_loop(f, both{x, table}, 9, LoopOptions().checkpoints(2).capture(capture)))
        .sum()
        .backward();
    auto const grads = support::take_grads({x, w});
    for (std::size_t k = 0; k < 2; ++k) CHECK(torch::allclose(grads[k], right[k], 1e-13, 0));
  }
}

TEST_CASE("what a step makes once and keeps is no earlier state", "[torch][captures]") {
  auto const x = leaf(0.5), w = leaf(0.9);
  Tensor kept;
  auto const step = [&](Tensor const& s, cairn::step_index) {
    if (!kept.defined()) kept = w * 2;
    return (s * kept).sin();
  };
  Tensor y = x;
  for (int i = 0; i < 4; ++i) y = step(y, i);
  y.sum().backward();
  auto const right = support::take_grads({x, w});
  kept.reset();
  cl::checkpointed_loop(step, x, 4, LoopOptions().capture(Capture::EveryStep)).sum().backward();
  CHECK(same_bits(support::take_grads({x, w}), right));
}

TEST_CASE("a loop in a step captures the state of the loop around it", "[torch][captures]") {
  auto const x = leaf(0.5);
  auto const inner = [](Tensor const& around) { return [around](Tensor const& s) { return (s * around).sin(); }; };
  Tensor y = x;
  for (int i = 0; i < 3; ++i) {
    Tensor z = y * 2;
    auto const f = inner(y);
    for (int k = 0; k < 3; ++k) z = f(z);
    y = z;
  }
  y.sum().backward();
  auto const right = support::take_grads({x});
  for (auto const capture : {Capture::FirstStep, Capture::EveryStep}) {
    auto const options = LoopOptions().capture(capture);
    auto const outer = [&](Tensor const& s) { return cl::checkpointed_loop(inner(s), s * 2, 3, options); };
    cl::checkpointed_loop(outer, x, 3, options).sum().backward();
    CHECK(torch::allclose(support::take_grads({x})[0], right[0], 1e-12, 0));
  }
}

/// Runs a function on a thread of its own, each time a new one.
Tensor elsewhere(std::function<Tensor()> const& f) { return std::async(std::launch::async, f).get(); }
/// A thread that takes one task after another.
class worker {
 public:
  Tensor run(std::function<Tensor()> f) {
    std::packaged_task<Tensor()> task{std::move(f)};
    auto result = task.get_future();
    {
      std::lock_guard const lock{access_};
      tasks_.push_back(std::move(task));
    }
    wakes_.notify_one();
    return result.get();
  }
  ~worker() {
    {
      std::lock_guard const lock{access_};
      ends_ = true;
    }
    wakes_.notify_one();
    thread_.join();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock{access_};
      wakes_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.erase(tasks_.begin());
      lock.unlock();
      task();
    }
  }

  std::mutex access_;
  std::condition_variable wakes_;
  std::vector<std::packaged_task<Tensor()>> tasks_;
  bool ends_ = false;
  std::thread thread_{[this] { work(); }};
};

TEST_CASE("a step may use threads of its own", "[torch][captures][threads]") {
  auto const x = leaf(0.5), w = leaf(0.9), v = leaf(0.4);
  worker pool;
  auto const prepared = pool.run([&] { return w * v; });  // with a history of that thread, from before the loop
  using task = std::function<Tensor()>;
  std::vector<std::function<Tensor(task const&)>> const ways{elsewhere, [&](task const& f) { return pool.run(f); }};
  for (auto const& there : ways) {
    std::vector<std::function<Tensor(Tensor const&, cairn::step_index)>> const steps{
        [&](Tensor const& s, cairn::step_index) { return there([&] { return (s * w).sin(); }); },
        [&](Tensor const& s, cairn::step_index) { return s * there([&] { return w * v; }); },
        [&](Tensor const& s, cairn::step_index) {
          auto const t = (s * v).sin();
          return there([&] { return t * w; }) + s * prepared;
        },
        [&](Tensor const& s, cairn::step_index) { return s * prepared + there([&] { return prepared * w; }); },
    };
    for (auto const& step : steps) {
      Tensor y = x;
      for (int i = 0; i < 6; ++i) y = step(y, i);
      y.sum().backward({}, true);
      auto const right = support::take_grads({x, w, v});
      for (auto const capture : {Capture::FirstStep, Capture::EveryStep})
        for (int const size : {1, 2, 6}) {
          cl::checkpointed_loop(step, x, 6, LoopOptions().capture(capture).checkpoints(2).block_size(size))
              .sum()
              .backward({}, true);
          auto const grads = support::take_grads({x, w, v});
          for (std::size_t k = 0; k < grads.size(); ++k) {
            REQUIRE(grads[k].defined() == right[k].defined());
            if (right[k].defined()) CHECK(torch::allclose(grads[k], right[k], 1e-13, 0));
          }
        }
      auto const named = LoopOptions().capture(Capture::Explicit).captures({w, v, prepared});
      cl::checkpointed_loop(step, x, 6, named).sum().backward({}, true);
      CHECK(torch::allclose(support::take_grads({x, w, v})[0], right[0], 1e-13, 0));
    }
  }
}

}  // namespace loop_captures_tests
