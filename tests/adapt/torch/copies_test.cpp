// SPDX-License-Identifier: Apache-2.0
// Every place where a value of the user's is copied, walked with one type whose constructor shares what `tensor_traits`
// takes apart: gradients are those of storing everything, and what the caller keeps stays as it was.
#include "support/torch.hpp"
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>
#include <cairn/adapt/torch.hpp>

namespace copies_tests {

using at::Tensor;
using cl::LoopOptions;
using cairn::step_index;
using Catch::Matchers::ContainsSubstring;
using support::said;
using support::same_bits;
namespace nn = torch::nn;

/// A handle: its constructor and `=` share the tensors and the number.
struct shared {
  struct inside {
    Tensor h, c;
    double scale = 1;
  };
  std::shared_ptr<inside> at = std::make_shared<inside>();
  shared() = default;
  shared(Tensor h, Tensor c, double scale) : at{std::make_shared<inside>(inside{std::move(h), std::move(c), scale})} {}
};
}  // namespace copies_tests

template <>
struct cairn::libtorch::tensor_traits<copies_tests::shared> {
  static void flatten(copies_tests::shared const& x, tensor_list& parts) {
    parts.push_back(x.at->h);
    parts.push_back(x.at->c);
  }
  static copies_tests::shared unflatten(copies_tests::shared const& like, tensor_reader& from) {
    auto h = from.next();
    return {std::move(h), from.next(), like.at->scale};
  }
};

namespace copies_tests {

constexpr step_index n = 12;

Tensor leaf(double value) { return torch::full({3}, value, torch::dtype(torch::kDouble).requires_grad(true)); }
Tensor sum_of(shared const& x) { return (x.at->h * x.at->c).sum(); }

struct world {
  Tensor w = leaf(0.8), h = leaf(0.4), c = leaf(0.6);
  shared start() const { return {h, c, 0.7}; }
  shared next(shared const& x) const {
    return {(x.at->h * w + x.at->c * x.at->scale).sin(), (x.at->c * w).tanh() + x.at->h, x.at->scale};
  }
  std::vector<Tensor> gradients() const { return support::take_grads({w, h, c}); }
};
/// What a caller may do with a handle while the graph still needs what it was.
void spoil(shared const& x) { *x.at = {torch::zeros({5}), torch::zeros({}), 77}; }

/// Steps in the forms in which they take and answer a state.
std::vector<std::function<shared(shared const&)>> steps(world const& in, shared& kept) {
  return {[&in](shared const& x) { return in.next(x); },
          [&in](shared x) {
            auto const y = in.next(x);
            spoil(x);
            return y;
          },
          [&in](shared x) {  // gives its parameter back
            *x.at = *in.next(x).at;
            return x;
          },
          [&in, &kept](shared const& x) -> shared {  // always the same object
            auto const y = in.next(x);
            kept.at->h = y.at->h;
            kept.at->c = y.at->c;
            kept.at->scale = y.at->scale;
            return kept;
          }};
}
std::vector<Tensor> plain(world const& in) {
  auto x = in.start();
  for (step_index i = 0; i < n; ++i) x = in.next(x);
  sum_of(x).backward();
  return in.gradients();
}
std::vector<LoopOptions> plans() {
  return {LoopOptions(),
          LoopOptions().checkpoints(1),
          LoopOptions().checkpoints(2).block_size(5),
          LoopOptions().checkpoints(3).slots(cl::SlotMode::Eager),
          LoopOptions().block_size(n),
          LoopOptions().schedule(cairn::revolve{n, 2}),
          LoopOptions().memory_limit("1MB"),
          LoopOptions().checkpoints(2).determinism(cl::Check::Bits)};
}

/// The three verbs; what they answer, and what a caller may spoil in between.
using verb = std::function<shared(std::function<shared(shared const&)> const&, shared const&, LoopOptions const&)>;
std::vector<verb> verbs() {
  return {[](auto const& f, shared const& x, LoopOptions const& how) { return cl::checkpointed_loop(f, x, n, how); },
          [](auto const& f, shared const& x, LoopOptions const& how) {
            auto const scanned = [f](shared const& s, Tensor const& t, step_index) {
              auto next = f(s);
              auto output = shared{next.at->h * t, next.at->c, 3};
              return std::pair{std::move(next), std::move(output)};
            };
            auto [last, outputs] = cl::checkpointed_scan(scanned, x, torch::ones({n, 3}, torch::kDouble), how);
            CHECK(outputs.at->scale == 3);
            CHECK(outputs.at->h.sizes() == at::IntArrayRef{n, 3});
            return last;
          },
          [](auto const& f, shared const& x, LoopOptions const& how) {
            if (how.schedule()) return cl::checkpointed_loop(f, x, n, how);
            return cl::checkpointed_while(
                f, x,
                [](shared s, step_index i) {
                  spoil(s);
                  return i < n;
                },
                how);
          }};
}

TEST_CASE("an initial state is the caller's, and may become another while the graph needs it", "[torch][copies]") {
  world const in;
  auto const right = plain(in);
  shared kept;
  for (auto const& call : verbs())
    for (auto const& how : plans())
      for (auto const& f : steps(in, kept)) {
        auto const x0 = in.start();
        auto const y = call(f, x0, how);
        CHECK(x0.at->h.is_same(in.h));
        CHECK(x0.at->scale == 0.7);
        CHECK(y.at->scale == 0.7);
        auto const loss = sum_of(y);
        spoil(x0);
        spoil(kept);
        spoil(y);
        loss.backward({}, true);
        CHECK(same_bits(in.gradients(), right));
        loss.backward();
        CHECK(same_bits(in.gradients(), right));
      }
}

TEST_CASE("without a gradient mode a loop returns a state of its own, and leaves that of the caller",
          "[torch][copies]") {
  world const in;
  torch::NoGradGuard const off;
  auto want = in.start();
  for (step_index i = 0; i < n; ++i) want = in.next(want);
  shared kept;
  for (auto const& call : verbs())
    for (auto const& f : steps(in, kept)) {
      auto const x0 = in.start();
      auto const y = call(f, x0, LoopOptions());
      CHECK(same_bits(y.at->h, want.at->h));
      CHECK(same_bits(y.at->c, want.at->c));
      CHECK(y.at != x0.at);
      CHECK(y.at != kept.at);
      CHECK(x0.at->h.is_same(in.h));
      CHECK(x0.at->scale == 0.7);
    }
}

TEST_CASE("what no step has changed is still a state of its own", "[torch][copies]") {
  world const in;
  auto const f = [&](shared const& x) { return in.next(x); };
  auto const scanned = [&](shared const& x, Tensor const& t) { return std::pair{in.next(x), t}; };
  for (bool const grad : {true, false}) {
    at::AutoGradMode const mode{grad};
    auto const x0 = in.start();
    auto const never = [](shared const&) { return false; };
    for (auto const& y :
         {cl::checkpointed_loop(f, x0, 0, LoopOptions()), cl::checkpointed_while(f, x0, never, LoopOptions()),
          cl::checkpointed_scan(scanned, x0, torch::ones({0, 3}), LoopOptions()).first}) {
      CHECK(y.at != x0.at);
      CHECK(y.at->h.is_same(in.h));
      spoil(y);
      CHECK(x0.at->scale == 0.7);
    }
  }
}

TEST_CASE("inputs and outputs of a scan in vectors are copied out, and their vector may go", "[torch][copies]") {
  world const in;
  std::vector<Tensor> rows;
  for (step_index i = 0; i < n; ++i) rows.push_back(torch::full({3}, 0.1 * double(i), torch::kDouble));
  auto const step = [&](shared const& x, Tensor const& t) {
    auto next = in.next(x);
    next.at->h = next.at->h + t;
    return std::pair{next, next};  // one object as both
  };
  auto x = in.start();
  auto total = torch::zeros({}, torch::kDouble);
  for (auto const& row : rows) {
    x = step(x, row).first;
    total = total + sum_of(x);
  }
  (total + sum_of(x)).backward();
  auto const right = in.gradients();
  auto given = rows;
  auto const x0 = in.start();
  auto const [last, all] = cl::checkpointed_scan(step, x0, given, LoopOptions().checkpoints(2));
  given.assign(rows.size(), Tensor{});
  spoil(x0);
  total = torch::zeros({}, torch::kDouble);
  for (auto const& y : all) {
    CHECK(y.at != last.at);
    total = total + sum_of(y);
  }
  auto const loss = total + sum_of(last);
  for (auto const& y : all) spoil(y);
  loss.backward();
  auto const got = in.gradients();
  for (std::size_t k = 0; k < got.size(); ++k) CHECK(torch::allclose(got[k], right[k], 1e-12, 0));
}

TEST_CASE("an estimate leaves the state of the caller as it was", "[torch][copies]") {
  world const in;
  shared kept;
  for (auto const& f : steps(in, kept)) {
    auto const x0 = in.start();
    (void)cl::estimate(f, x0, n, LoopOptions().memory_limit("1MB"));
    CHECK(x0.at->h.is_same(in.h));
    CHECK(x0.at->c.is_same(in.c));
    CHECK(x0.at->scale == 0.7);
  }
}

TEST_CASE("a region keeps what its arguments were, and each later run begins with what the function captured",
          "[torch][copies]") {
  world const in;
  auto const right = [&] {
    sum_of(in.next(in.start())).backward();
    return in.gradients();
  }();
  int count = 0;
  std::vector<std::function<shared(shared const&)>> functions = [&] {
    static shared kept;
    return steps(in, kept);
  }();
  functions.push_back([&in, runs = 0](shared const& x) mutable {
    return ++runs == 1 ? in.next(x) : in.next({x.at->h.sin(), x.at->c, 2});
  });
  for (auto const& f : functions) {
    auto const x0 = in.start();
    auto const given = count == 2
                           ? in.start()
                           : x0;  // a function that gives its parameter back changes the caller's, as in the plain call
    auto const y = cl::checkpoint(f, given);
    auto const loss = sum_of(y);
    spoil(x0);
    spoil(given);
    spoil(y);
    INFO("function " << count);
    for (int k = 0; k < 3; ++k) {
      loss.backward({}, true);
      CHECK(same_bits(in.gradients(), right));
    }
    ++count;
  }
}

TEST_CASE("a kept part of a region is no object of the caller's", "[torch][copies]") {
  world const in;
  auto const part = [&](shared const& x) { return in.next(x); };
  auto const f = [&](bool keeps, shared const& x) {
    auto const h = keeps ? cl::keep([&] { return part(x); }) : part(x);
    auto const result = sum_of(h).sin() * h.at->scale;
    spoil(h);
    return result;
  };
  f(false, in.start()).backward();
  auto const right = in.gradients();
  auto const y = cl::checkpoint([&](shared const& x) { return f(true, x); }, in.start());
  for (int k = 0; k < 3; ++k) {
    y.backward({}, true);
    CHECK(same_bits(in.gradients(), right));
  }
}

/// A cell whose state is a handle.
struct HandleCellImpl : nn::Module {
  Tensor w;
  HandleCellImpl() : w{register_parameter("w", torch::full({3}, 0.8, torch::kDouble))} {}
  shared forward(Tensor const& x, shared const& s) {
    return {(s.at->h * w + x * s.at->scale).sin(), s.at->c * w + s.at->h, s.at->scale};
  }
};
TORCH_MODULE(HandleCell);

TEST_CASE("a cell's initial state is the caller's", "[torch][copies]") {
  world const in;
  HandleCell cell;
  auto const xs = torch::linspace(0, 1, n * 3, torch::kDouble).view({n, 3});
  auto x = in.start();
  for (auto const& row : xs.unbind(0)) x = cell->forward(row, x);
  sum_of(x).backward();
  auto const right = support::take_grads({cell->w, in.h, in.c});
  auto const x0 = in.start();
  auto const last = cl::checkpointed_scan(cell, x0, xs, cl::LoopOptions().checkpoints(2)).first;
  spoil(x0);
  auto const loss = sum_of(last);
  spoil(last);
  loss.backward();
  CHECK(same_bits(support::take_grads({cell->w, in.h, in.c}), right));
}

/// Tensors beside each other that a copy shares, and that one memory holds.
struct members {
  Tensor whole, half;
};
}  // namespace copies_tests

template <>
struct cairn::libtorch::tensor_traits<copies_tests::members> {
  static void flatten(copies_tests::members const& x, tensor_list& parts) {
    parts.insert(parts.end(), {x.whole, x.half});
  }
  static copies_tests::members unflatten(copies_tests::members const&, tensor_reader& from) {
    auto whole = from.next();
    return {std::move(whole), from.next()};
  }
};

namespace copies_tests {

TEST_CASE("members that share memory with each other have the plain gradients, and a change of them in place is seen",
          "[torch][copies]") {
  auto const w = leaf(0.8), start = torch::linspace(0.1, 0.6, 6, torch::kDouble).requires_grad_(true);
  auto const step = [&](members const& x) {
    auto const next = torch::cat({x.whole.slice(0, 0, 3) * w, x.half.sin() + w});
    return members{next, next.slice(0, 3)};
  };
  auto const begin = [&] { return members{start, start.slice(0, 3)}; };
  auto x = begin();
  for (step_index i = 0; i < n; ++i) x = step(x);
  (x.whole.sum() + x.half.sin().sum()).backward();
  auto const right = support::take_grads({w, start});
  for (auto const& how : plans()) {
    auto const y = cl::checkpointed_loop(step, begin(), n, how);
    (y.whole.sum() + y.half.sin().sum()).backward();
    auto const got = support::take_grads({w, start});
    for (std::size_t k = 0; k < got.size(); ++k) CHECK(torch::allclose(got[k], right[k], 1e-12, 0));
    auto const again = begin();
    auto const z = cl::checkpointed_loop(step, again, n, how);
    {
      torch::NoGradGuard const off;
      again.half.detach().add_(1);  // through a copy's member
    }
    CHECK_THAT(said<cairn::invalid_call>([&] { z.whole.sum().backward(); }), ContainsSubstring("changed in place"));
    start.detach().slice(0, 3).sub_(1);
  }
  auto const region = cl::checkpoint(step, begin());
  start.detach().add_(0);
  CHECK_THAT(said<c10::Error>([&] { region.whole.sum().backward(); }),  // as the plain call
             ContainsSubstring("modified by an inplace"));
}

TEST_CASE("a gradient that a loop was differentiated with must stay until the second derivative", "[torch][copies]") {
  auto const w = leaf(0.8), x = leaf(0.4);
  auto const seed = torch::ones({3}, torch::dtype(torch::kDouble).requires_grad(true));
  auto const twice = [&](auto const& forward, bool changes) {
    auto const g = torch::autograd::grad({forward()}, {x}, {seed}, true, true)[0];
    if (changes) seed.detach().add_(0);
    return torch::autograd::grad({g.pow(2).sum()}, {x, seed});
  };
  auto const in_loop = [&] {
    return cl::checkpointed_loop([&](Tensor const& s) { return (s * w).sin() * s; }, x, 5,
                                    LoopOptions().checkpoints(2));
  };
  auto const in_plain = [&] {
    Tensor s = x;
    for (int i = 0; i < 5; ++i) s = (s * w).sin() * s;
    return s;
  };
  auto const right = twice(in_plain, false), got = twice(in_loop, false);
  for (std::size_t k = 0; k < 2; ++k) CHECK(torch::allclose(got[k], right[k], 1e-12, 0));
  CHECK_THAT(said<c10::Error>([&] { (void)twice(in_plain, true); }),
             ContainsSubstring("modified by an inplace operation"));
  CHECK_THAT(said<cairn::invalid_call>([&] { (void)twice(in_loop, true); }),
             ContainsSubstring(
                 "a gradient that the loop was differentiated with was changed in place (gradient = 0, of = 1)"));
}

TEST_CASE("a question that changes the state in place is refused", "[torch][copies]") {
  auto const x = leaf(0.4);
  auto const asks = [](Tensor const& s, step_index i) {
    if (i == 3) s.mul_(2);
    return i < 6;
  };
  CHECK_THAT(said<cairn::invalid_call>([&] {
               (void)cl::checkpointed_while(
                   [](Tensor const& s) { return s.sin(); }, x, asks, LoopOptions());
             }),
             ContainsSubstring("keep_going changed the state in place (state = 3, part = 0)"));
}

TEST_CASE("options are copied: what a caller sets later is of later loops", "[torch][copies]") {
  world const in;
  auto const right = plain(in);
  auto how = LoopOptions().checkpoints(2).captures({in.w});
  auto const y = cl::checkpointed_loop([&](shared const& x) { return in.next(x); }, in.start(), n, how);
  how.checkpoints(0).captures({}).rng(cl::Rng::Ignore).double_backward(false);
  sum_of(y).backward();
  CHECK(same_bits(in.gradients(), right));
}

}  // namespace copies_tests
