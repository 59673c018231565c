// SPDX-License-Identifier: Apache-2.0
#include "support/torch.hpp"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>
#include <torch/library.h>
#include <cairn/adapt/torch/memory/byte_meter.hpp>
#include <cairn/adapt/torch/checkpoint/checkpoint_policy.hpp>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/checkpoint/saved_tensors_hooks.hpp>

namespace checkpoint_policy_tests {

using at::Tensor;
using cl::checkpoint;
using cl::CheckpointOptions;
using cl::CheckpointPolicy;
using cl::save_operators;
using Catch::Matchers::ContainsSubstring;
using support::message_of;
using support::same_bits;
using support::seeded;
using support::take_grads;

/// How often the kernels of this file ran.
std::map<std::string, int>& kernel_runs() {
  static std::map<std::string, int> runs;
  return runs;
}
/// An operator's kernel that counts itself. Gradients come from the operators in it.
Tensor counted_mm(Tensor const& a, Tensor const& b) { return ++kernel_runs()["mm"], at::mm(a, b); }
Tensor counted_noise(Tensor const& a) { return ++kernel_runs()["noise"], a * at::bernoulli(at::full_like(a, 0.5)); }
std::tuple<Tensor, std::vector<Tensor>, std::int64_t> counted_parts(Tensor const& a) {
  return ++kernel_runs()["parts"], std::tuple{a.exp(), std::vector<Tensor>{a.sin(), a.cos()}, a.numel()};
}
Tensor counted_same(Tensor const& a) { return ++kernel_runs()["same"], a; }

/// Gradients of an operator of this file: d result / d a applied to `grad`.
struct with_gradient : torch::autograd::Function<with_gradient> {
  static Tensor forward(torch::autograd::AutogradContext* context, Tensor const& a, Tensor const& b) {
    at::AutoDispatchBelowADInplaceOrView const below;
    static auto const op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("cairn_test::mm", "")
                               .typed<Tensor(Tensor const&, Tensor const&)>();
    context->save_for_backward({a, b});
    return op.call(a, b);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list const& grads) {
    auto const saved = context->get_saved_variables();
    return {grads[0].mm(saved[1].t()), saved[0].t().mm(grads[0])};
  }
};

TORCH_LIBRARY(cairn_test, library) {
  library.def("mm(Tensor a, Tensor b) -> Tensor");
  library.def("noise(Tensor a) -> Tensor");
  library.def("parts(Tensor a) -> (Tensor, Tensor[], int)");
  library.def("same(Tensor a) -> Tensor");
}
TORCH_LIBRARY_IMPL(cairn_test, CPU, library) {
  library.impl("mm", counted_mm);
  library.impl("noise", counted_noise);
  library.impl("parts", counted_parts);
  library.impl("same", counted_same);
}

Tensor product(Tensor const& a, Tensor const& b) { return with_gradient::apply(a, b); }
template <class Signature, class... Arguments>
auto call(char const* name, Arguments const&... arguments) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>().call(arguments...);
}
Tensor noise(Tensor const& a) { return call<Tensor(Tensor const&)>("cairn_test::noise", a.detach()); }

CheckpointOptions saving(std::vector<std::string> names) {
  return CheckpointOptions().policy(save_operators(std::move(names)));
}
cl::checkpoint_policy everywhere(CheckpointPolicy said) {
  return [said](std::string_view) { return said; };
}

TEST_CASE(
    "operators that a policy keeps are not run again, and gradients and random numbers are those of the plain call",
    "[torch][region][policy]") {
  bool const verify = GENERATE(true, false);
  auto const which = GENERATE(0, 1, 2);  // no policy, some operators, all that can be kept
  seeded const seed{1};
  auto const x = torch::randn({5, 5}).requires_grad_(true), w = torch::randn({5, 5}).requires_grad_(true);
  int around = 0;
  auto const f = [&](Tensor const& a) {
    ++around;
    auto const h = product(torch::dropout(a.sin(), 0.5, true), w);
    auto const z = h.exp() * noise(h) * torch::linear(h.tanh(), w);
    return torch::dropout(product(z.sigmoid(), w), 0.5, true).cos();
  };
  auto const run = [&](std::optional<CheckpointOptions> const& options, int times) {
    torch::manual_seed(5);
    kernel_runs().clear();
    around = 0;
    auto const y = options ? checkpoint(f, x * 2, *options) : f(x * 2);
    auto all = std::vector<Tensor>{torch::rand({2})};
    for (int k = 1; k <= times; ++k) {
      y.sum().backward({}, k < times);
      for (auto const& g : take_grads({x, w})) all.push_back(g);
    }
    return all;
  };
  auto const options = (which == 0   ? CheckpointOptions()
                        : which == 1 ? saving({"cairn_test::mm", "cairn_test::noise", "aten::mm"})
                                     : CheckpointOptions().policy(everywhere(CheckpointPolicy::PreferSave)))
                           .verify(verify);
  CHECK(same_bits(run({}, 2), run(options, 2)));
  (void)run(options, 1);
  CHECK(around == 1);
  CHECK(kernel_runs()["mm"] == (which > 0 ? 2 : 4));
  CHECK(kernel_runs()["noise"] == (which > 0 ? 1 : 2));
}

TEST_CASE("the bytes of a region with a policy lie between those of keeping nothing and everything",
          "[torch][region][policy]") {
  seeded const seed{1};
  auto const x = torch::randn({64, 64}).requires_grad_(true), w = torch::randn({64, 64}).requires_grad_(true);
  auto const f = [&](Tensor const& a) { return a.sin().mm(w).exp().cos().mm(w).tanh().sigmoid(); };
  auto const held = [&](std::function<Tensor()> const& make) {
    cl::byte_meter const meter;
    auto const y = make();
    return meter.allocated();
  };
  auto const none = held([&] { return checkpoint(f, x); });
  auto const some = held([&] { return checkpoint(f, x, saving({"aten::mm"})); });
  auto const all = held([&] { return f(x); });
  auto const bytes = std::int64_t(x.nbytes());
  CHECK(some == none + 2 * bytes);
  CHECK(all > some + bytes);
  cl::byte_meter const meter;
  checkpoint(f, x, saving({"aten::mm"})).sum().backward();
  (void)take_grads({x, w});
  CHECK(meter.allocated() == 0);
}

TEST_CASE("a policy is asked in the first run, once a call, and may count", "[torch][region][policy]") {
  auto const x = torch::linspace(0, 1, 16).view({4, 4}).requires_grad_(true), w = torch::ones({4, 4});
  int asked = 0;
  auto const every_other = [&](std::string_view operation) {
    return operation == "cairn_test::mm" && ++asked % 2 == 1 ? CheckpointPolicy::PreferSave
                                                             : CheckpointPolicy::MustRecompute;
  };
  auto const f = [&](Tensor const& a) {
    return product(product(product(product(a, w).sin(), w).sin(), w).sin(), w).sin();
  };
  f(x).sum().backward();
  auto const expected = take_grads({x});
  kernel_runs().clear();
  auto const y = checkpoint(f, x, CheckpointOptions().policy(every_other));
  CHECK(asked == 4);
  y.sum().backward();
  CHECK(asked == 4);
  CHECK(kernel_runs()["mm"] == 4 + 2);
  CHECK(same_bits(take_grads({x}), expected));
}

TEST_CASE("a policy may choose by the arguments of an operator", "[torch][region][policy]") {
  seeded const seed{3};
  auto const x = torch::randn({8, 4}).requires_grad_(true), narrow = torch::randn({4, 4}), wide = torch::randn({4, 64});
  auto const f = [&](Tensor const& a) { return product(product(a, narrow).sin(), wide).sin().exp(); };
  f(x).sum().backward();
  auto const expected = take_grads({x});
  auto const held = [&](std::int64_t least) {
    kernel_runs().clear();
    auto const large = [least](cl::operator_call const& call) {
      bool const is_large = call.name == "cairn_test::mm" && call.arguments[1].toTensor().size(1) >= least;
      return is_large ? CheckpointPolicy::PreferSave : CheckpointPolicy::PreferRecompute;
    };
    checkpoint(f, x, CheckpointOptions().policy(large)).sum().backward();
    CHECK(same_bits(take_grads({x}), expected));
    return kernel_runs()["mm"];
  };
  CHECK(held(0) == 2);
  CHECK(held(5) == 3);
  CHECK(held(65) == 4);
}

TEST_CASE("what is kept and changed in place by the region itself is kept as it was", "[torch][region][policy]") {
  bool const nested = GENERATE(false, true);
  bool const offloaded = GENERATE(false, true);
  seeded const seed{1};
  auto const x = torch::randn({4, 4}).requires_grad_(true), w = torch::randn({4, 4});
  auto const f = [&](Tensor const& a) {
    auto h = product(a, w).sin();
    auto g = product(h, w);
    g.relu_();
    auto const k = g.exp();
    auto v = product(k, w);
    v.select(0, 1).mul_(2);
    v.t_();
    return (v.sigmoid() * k).tanh();
  };
  f(x).sum().backward();
  auto const expected = take_grads({x});
  std::optional<cl::save_on_cpu> scope;
  if (offloaded) scope.emplace(true);
  auto const options = saving({"cairn_test::mm"});
  kernel_runs().clear();
  auto const y =
      nested ? checkpoint([&](Tensor const& a) { return checkpoint(f, a, options); }, x) : checkpoint(f, x, options);
  y.sum().backward({}, true);
  CHECK(same_bits(take_grads({x}), expected));
  if (!nested && !offloaded) CHECK(kernel_runs()["mm"] == 3);
  y.sum().backward();
  CHECK(same_bits(take_grads({x}), expected));
}

TEST_CASE("what is kept and changed in place after the region is made again", "[torch][region][policy]") {
  auto const x = torch::ones({4, 4}).requires_grad_(true), w = torch::ones({4, 4});
  auto const f = [&](Tensor const& a) {
    auto const h = product(a, w);
    return std::tuple{h.sin().exp(), h};
  };
  std::get<0>(f(x)).sum().backward();
  auto const expected = take_grads({x});
  auto const [y, h] = checkpoint(f, x, saving({"cairn_test::mm"}));
  auto const made = [&] {
    h.detach().add_(1);
    return message_of([&] { y.sum().backward(); });
  }();
  // The sine has saved it: that is LibTorch's own error, as in the plain call.
  CHECK_THAT(made, ContainsSubstring("has been modified by an inplace operation"));
  auto const g = [&](Tensor const& a) {
    auto const p = product(a, w);
    return std::tuple{(p + 1).sin().exp(), p};
  };
  std::get<0>(g(x)).sum().backward();
  auto const wanted = take_grads({x});
  auto const [z, p] = checkpoint(g, x, saving({"cairn_test::mm"}));
  p.detach().add_(1);
  z.sum().backward();
  CHECK(same_bits(take_grads({x}), wanted));
}

TEST_CASE("a policy may say of any operator that it is kept", "[torch][region][policy]") {
  auto const x = torch::linspace(0, 1, 16).view({4, 4}).requires_grad_(true);
  auto const f = [](Tensor const& a) {
    auto b = a.t().sin();
    b.mul_(2);
    auto const [values, places] = b.max(0);
    auto const halves = b.split(2);
    auto const [mean, rest] = std::tuple{torch::layer_norm(halves[0], {4}), halves[1].unbind(0)};
    return (torch::stack(rest).exp() * mean * values).sum() * places.sum().item<double>();
  };
  auto const same = [](Tensor const& a) {
    return call<Tensor(Tensor const&)>("cairn_test::same", a.detach()).sin() * a;
  };
  auto const inference = [](Tensor const& a) {
    auto const factor = [&] {
      c10::InferenceMode const on;
      return a.sum().exp().item<double>();
    }();
    return a.sin().exp() * factor;
  };
  for (std::function<Tensor(Tensor const&)> const& one :
       {std::function<Tensor(Tensor const&)>{f}, {same}, {inference}}) {
    one(x).sum().backward();
    auto const expected = take_grads({x});
    for (auto const said : {CheckpointPolicy::MustSave, CheckpointPolicy::PreferSave, CheckpointPolicy::MustRecompute,
                            CheckpointPolicy::PreferRecompute}) {
      checkpoint(one, x, CheckpointOptions().policy(everywhere(said)).verify(true)).sum().backward();
      CHECK(same_bits(take_grads({x}), expected));
    }
  }
}

TEST_CASE("an operator with several results, lists and numbers among them, is kept as a whole",
          "[torch][region][policy]") {
  auto const x = torch::linspace(0, 1, 4).requires_grad_(true);
  auto const f = [](Tensor const& a) {
    auto const [e, both, count] =
        call<std::tuple<Tensor, std::vector<Tensor>, std::int64_t>(Tensor const&)>("cairn_test::parts", a.detach());
    return ((a * e).sin() * both[0] + a.exp() * both[1] * double(count)).tanh();
  };
  f(x).sum().backward();
  auto const expected = take_grads({x});
  kernel_runs().clear();
  checkpoint(f, x, saving({"cairn_test::parts"})).sum().backward();
  CHECK(kernel_runs()["parts"] == 1);
  CHECK(same_bits(take_grads({x}), expected));
  CHECK(same_bits(take_grads({x}), {Tensor{}}));
}

TEST_CASE("a policy holds for its own region, not for one inside, and keep stays what it is",
          "[torch][region][policy]") {
  auto const x = torch::linspace(0, 1, 16).view({4, 4}).requires_grad_(true), w = torch::ones({4, 4});
  auto const inner = [&](Tensor const& a) { return product(a, w).sin().exp(); };
  int parts = 0;
  auto const f = [&](Tensor const& a) {
    auto const b = checkpoint(inner, product(a, w).cos());
    auto const c = cl::keep([&] { return ++parts, product(b, w); });
    return c.sin().exp();
  };
  f(x).sum().backward();
  auto const expected = take_grads({x});
  kernel_runs().clear();
  parts = 0;
  checkpoint(f, x, saving({"cairn_test::mm"})).sum().backward();
  CHECK(same_bits(take_grads({x}), expected));
  CHECK(parts == 1);
  CHECK(kernel_runs()["mm"] == 1 + 2 + 1);  // kept, in the inner region, in the kept part
}

TEST_CASE("a policy under automatic casts has the bits of the plain call", "[torch][region][policy]") {
  auto const x = torch::linspace(0, 1, 16).view({4, 4}).requires_grad_(true),
             w = torch::linspace(1, 2, 16).view({4, 4}).requires_grad_(true);
  auto const f = [&](Tensor const& a) { return torch::mm(torch::mm(a.sin(), w).exp(), w).to(at::kFloat).tanh(); };
  auto const run = [&](std::optional<CheckpointOptions> const& options) {
    cl::detail::autocast_scope const back{cl::detail::autocast_state{}};
    cl::detail::switch_autocast(at::kCPU, true);
    cl::detail::set_autocast_type(at::kCPU, at::kBFloat16);
    auto const y = options ? checkpoint(f, x, *options) : f(x);
    at::autocast::clear_cache();
    y.sum().backward();
    return take_grads({x, w});
  };
  auto const expected = run({});
  CHECK(same_bits(run(saving({"aten::mm"})), expected));
  CHECK(same_bits(run(CheckpointOptions().policy(everywhere(CheckpointPolicy::PreferSave))), expected));
}

TEST_CASE("what is differentiated twice through a region with a policy has the plain bits", "[torch][region][policy]") {
  auto const x = torch::linspace(0.1, 1, 16, at::kDouble).view({4, 4}).requires_grad_(true),
             w = torch::ones({4, 4}, at::kDouble);
  auto const f = [&](Tensor const& a) { return (a.mm(w).sin() * a).exp().mm(a).sum(); };
  auto const second = [&](bool plain) {
    auto const y = plain ? f(x) : checkpoint(f, x, saving({"aten::mm", "aten::exp"}));
    auto const first = torch::autograd::grad({y}, {x}, {}, true, true);
    auto both = torch::autograd::grad({first[0].pow(2).sum()}, {x});
    both.push_back(first[0].detach());
    return both;
  };
  CHECK(same_bits(second(true), second(false)));
  // and where the function differentiates something itself
  auto const penalty = [&](Tensor const& a) {
    auto const b = a.detach().requires_grad_(true);
    auto const g = torch::autograd::grad({b.mm(w).sin().exp().sum()}, {b})[0];
    return (g.mm(w) * a).sin().sum();
  };
  penalty(x).backward();
  auto const expected = take_grads({x});
  checkpoint(penalty, x, saving({"aten::mm", "aten::exp"})).backward();
  CHECK(same_bits(take_grads({x}), expected));
}

TEST_CASE("regions with a policy run in threads of their own", "[torch][region][policy]") {
  std::vector<std::vector<Tensor>> all(4);
  std::vector<std::thread> threads;
  for (auto& grads : all)
    threads.emplace_back([&] {
      auto const x = torch::linspace(0, 1, 16).view({4, 4}).requires_grad_(true), w = torch::ones({4, 4});
      auto const f = [&](Tensor const& a) { return a.mm(w).sin().mm(w).exp(); };
      for (int k = 0; k < 20; ++k) {
        f(x).sum().backward();
        auto const expected = take_grads({x});
        checkpoint(f, x, saving({"aten::mm"})).sum().backward();
        grads = take_grads({x});
        if (!same_bits(grads, expected)) grads.clear();
      }
    });
  for (auto& one : threads) one.join();
  for (auto const& grads : all) CHECK(grads.size() == 1);
}

TEST_CASE("a name that no operator has, or one that is made of others, is refused", "[torch][region][policy]") {
  CHECK_THAT(message_of([] { (void)save_operators({"aten::mmm"}); }),
             ContainsSubstring("cairn::libtorch::save_operators: there is no operator aten::mmm"));
  CHECK_THAT(message_of([] { (void)save_operators({"aten::matmul"}); }),
             ContainsSubstring("aten::matmul is made of other operators, which are what runs"));
  CHECK(save_operators({"aten::mm"})("aten::mm") == CheckpointPolicy::MustSave);
  CHECK(save_operators({"aten::mm"})("aten::bmm") == CheckpointPolicy::PreferRecompute);
}

TEST_CASE("named parts are kept where the region's choice has their names", "[torch][region][keep]") {
  auto const x = torch::linspace(0, 1, 4).requires_grad_(true);
  std::map<std::string, int> runs;
  auto const part = [&](std::string const& name, Tensor const& a) {
    return cl::keep(name, [&, name] { return ++runs[name], a.exp().cos(); });
  };
  auto const f = [&](Tensor const& a) {
    return cl::keep([&] { return ++runs["-"], part("mlp.out", part("mlp.in", part("head", a.sin()).sin())); })
        .sin()
        .exp();
  };
  auto const g = [&](Tensor const& a) {
    return part("mlp.out", part("mlp.in", part("head", a.sin()).sin())).sin().exp();
  };
  g(x).sum().backward();
  auto const expected = take_grads({x});
  auto const& again = cl::detail::region_totals()->again;
  auto const counted = [&](std::optional<std::vector<std::string>> names) {
    runs.clear();
    CheckpointOptions options;
    if (names) options.kept_names(*names);
    auto const y = checkpoint(g, x, options).sum();
    auto const before = again.load();
    y.backward();
    CHECK(same_bits(take_grads({x}), expected));
    CHECK(runs == std::map<std::string, int>{{"head", 1}, {"mlp.in", 1}, {"mlp.out", 1}});
    return again - before;
  };
  // A part is exp and cos, and saves what exp makes; the sines around them save their inputs.
  CHECK(counted({}) == 2);                                                 // the last sine and exp
  CHECK(counted(std::vector<std::string>{"mlp.*"}) == 2 + 3);              // the first sine and head
  CHECK(counted(std::vector<std::string>{"head", "mlp.out"}) == 2 + 2);    // the sine after head, and the exp of mlp.in
  CHECK(counted(std::vector<std::string>{}) == 10);                        // all
  runs.clear();
  checkpoint(f, x, CheckpointOptions().kept_names({"none"})).sum().backward();
  CHECK(runs["-"] == 1);  // without a name it is always kept, and with all that is in it
  CHECK(runs["head"] == 1);
  CHECK(same_bits(take_grads({x}), expected));
}

}  // namespace checkpoint_policy_tests
