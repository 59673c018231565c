// SPDX-License-Identifier: Apache-2.0
// Programs that do another thing each time, or that no list of operators of an earlier call describes: the first call
// and all later ones leave what the plain ones leave.
#include "adapt/torch/models/recorded_programs.hpp"
#include <random>
#include <utility>
#include <vector>
namespace record_findings_tests {

using namespace recorded_programs;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

struct Teacher : nn::Module {
  nn::Linear online{32, 32}, teacher{32, 32};
  Tensor mean = torch::zeros({32});
  Teacher() {
    register_module("online", online), register_module("teacher", teacher), register_buffer("mean", mean);
    for (auto& p : teacher->parameters()) p.set_requires_grad(false);
  }
  Tensor forward(Tensor x) {
    {
      torch::NoGradGuard const off;
      teacher->weight.mul_(0.9).add_(online->weight, 0.1);
    }
    mean.data().mul_(0.9).add_(x.detach().mean(0), 0.1);
    auto h = torch::tanh(online(x - mean));
    return (torch::tanh(online(h)) - teacher(h).detach()).pow(2).mean();
  }
};
struct Observed : nn::Module {
  nn::Linear l{32, 32}, m{32, 32};
  Tensor scale = torch::ones({}), seen, wide = torch::zeros({32});
  double temperature = 1;
  std::mt19937 random{3};
  std::vector<double> log;
  int calls = 0;
  Observed() { register_module("l", l), register_module("m", m); }
  Tensor forward(Tensor x) {
    auto y = torch::tanh(l(x) / temperature);
    seen = y.detach().mean();
    scale = scale * 0.9 + y.detach().abs().max() * 0.1;
    wide = 0.9 * wide + 0.1 * y.detach().mean(0);
    if (random() % 2) y = torch::tanh(m(y) * y);
    log.push_back(y.detach().mean().item<double>());
    temperature *= 0.9, ++calls;
    return torch::tanh(m(y / scale - wide)).pow(2).mean();
  }
};
/// Losses, gradients by x, and what they leave in the module.
template <class Net>
tensors trained(runner const& run, Net& net, int steps) {
  tensors all;
  for (int k = 0; k < steps; ++k) {
    auto x = torch::randn({64, 32}).requires_grad_();
    {
      auto l = run([&] { return net.forward(x); });
      l.backward();
      all.push_back(l.detach()), all.push_back(x.grad());
    }
    run.end_step();
  }
  for (auto& g : left_in(net)) all.push_back(g);
  return all;
}
TEST_CASE("recorded calls leave what plain calls leave, whatever the program does differently each time",
          "[torch][record]") {
  std::int64_t again = 0;

  again += check("labels captured by reference", [](runner const& run) {
    nn::Sequential net(nn::Linear(8, 64), nn::Tanh(), nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 4));
    std::vector<std::pair<Tensor, Tensor>> data;
    for (int k = 0; k < 4; ++k) data.emplace_back(torch::randn({64, 8}), torch::randint(0, 4, {64}));
    Tensor y;
    tensors all;
    auto const loss = [&](Tensor const& x) { return F::cross_entropy(net->forward(x), y); };
    for (auto const& [x, labels] : data) {
      y = labels;
      {
        auto l = run([&] { return loss(x); });
        l.backward();
        all.push_back(l.detach());
      }
      run.end_step();
    }
    for (auto& g : left_in(*net)) all.push_back(g);
    return all;
  });
  again += check("teacher moved in forward", [](runner const& run) {
    auto net = std::make_shared<Teacher>();
    auto all = trained(run, *net, 3);
    all.push_back(net->teacher->weight.clone());
    return all;
  });
  again += check("members by assignment, mt19937", [](runner const& run) {
    auto net = std::make_shared<Observed>();
    auto all = trained(run, *net, 5);
    all.insert(all.end(), {net->scale, net->seen, net->wide, torch::tensor(net->log), torch::tensor(net->temperature),
                           torch::tensor(net->calls)});
    return all;
  });
  again += check("poisson, first of zeros", [](runner const& run) {
    nn::Linear a(32, 32), b(32, 32), c(32, 32);
    tensors all;
    auto const x = torch::randn({64, 32}).requires_grad_(), zeros = torch::zeros({64, 32}).requires_grad_();
    auto const f = [&](Tensor t) {
      auto const n = at::poisson(t.detach().abs());
      auto const m = at::binomial(5 * torch::ones_like(t), t.detach().abs().clamp(0, 1));
      auto h = torch::tanh(a(torch::dropout(t + 1, 0.3, true)));
      h = torch::dropout(torch::tanh(b(h) * (n + 0.5 + m)), 0.3, true);
      return torch::tanh(c(torch::rrelu(h) + n));
    };
    for (auto const& t : {zeros, x, x}) {
      {
        auto y = run([&] { return f(t); });
        all.push_back(torch::autograd::grad({y.pow(2).sum()}, {t})[0]);
        all.push_back(y.detach());
      }
      run.end_step();
    }
    all.push_back(generator_now());
    return all;
  });
  again += check("linear on six chunks", [](runner const& run) {
    nn::Linear l(32, 32), m(32, 32);
    auto const x = torch::randn({16, 24, 32});
    tensors all;
    {
      auto y = run([&] {
        tensors ys;
        for (auto const& part : x.split(4, 1)) ys.push_back(part + l(torch::tanh(m(part))));
        auto h = torch::zeros({16, 32});
        for (int k = 0; k < 6; ++k) ys.push_back((h = torch::tanh(l(x.select(1, k)) + m(h))).unsqueeze(1));
        return torch::cat(ys, 1);
      });
      y.pow(2).sum().backward();
      all.push_back(y.detach());
    }
    run.end_step();
    for (auto& g : left_in(*l)) all.push_back(g);
    for (auto& g : left_in(*m)) all.push_back(g);
    return all;
  });
  again += check("a grid of selected entries", [](runner const& run) {
    nn::Linear l(32, 32);
    auto const x = torch::randn({3, 24, 32});
    tensors all;
    {
      auto y = run([&] {
        auto const z = torch::log_softmax(l(x), -1);
        tensors row(6, torch::zeros({32}));
        for (int i = 0; i < 3; ++i)
          for (int j = 0; j < 6; ++j) {
            auto& now = row[std::size_t(j)];
            now = j > 0 ? torch::logaddexp(now + z[i][j], row[std::size_t(j - 1)] + z[i][j + 6]) : now + z[i][j];
          }
        return row[5];
      });
      y.sum().backward();
      all.push_back(y.detach());
    }
    run.end_step();
    for (auto& g : left_in(*l)) all.push_back(g);
    return all;
  });
  again += check("twelve lengths in turn", [](runner const& run) {
    nn::Linear l(32, 32), m(32, 32);
    tensors all;
    for (int k = 0; k < 36; ++k) {
      auto const x = torch::randn({4 + k % 12, 32});
      {
        auto y = run([&] {
          auto h = x;
          for (int i = 0; i < 3 + k % 12; ++i) h = h + torch::tanh(l(torch::relu(m(h))));
          return h;
        });
        y.pow(2).mean().backward();
      }
      run.end_step();
    }
    for (auto& g : left_in(*l)) all.push_back(g);
    for (auto& g : left_in(*m)) all.push_back(g);
    return all;
  });
  again += check("ring buffer, a slot per step", [](runner const& run) {
    nn::Linear l(8, 8);
    auto const x = torch::randn({64, 8}).requires_grad_();
    auto cache = torch::zeros({4, 8});
    tensors all;
    auto const step = [&](Tensor h, int i) {
      {
        torch::NoGradGuard const off;
        cache.select(0, i % 4).copy_(h.mean(0));
      }
      return torch::tanh(l(h) + 0.3 * h.mm(cache.clone().t()).mm(cache.clone()) + h);
    };
    {
      auto out = run([&] {
        Tensor h = x;
        for (int i = 0; i < 8; ++i) h = step(h, i);
        return h;
      });
      all.push_back(torch::autograd::grad({out.sum()}, {x})[0]);
      all.push_back(out.detach());
    }
    run.end_step();
    all.push_back(cache);
    return all;
  });
  again += check("ring buffer, a call per step", [](runner const& run) {
    nn::Linear l(8, 8);
    auto const x = torch::randn({64, 8}).requires_grad_();
    auto cache = torch::zeros({4, 8});
    tensors all;
    auto const step = [&](Tensor h, int i) {
      {
        torch::NoGradGuard const off;
        cache.select(0, i % 4).copy_(h.mean(0));
      }
      return torch::tanh(l(h) + 0.3 * h.mm(cache.clone().t()).mm(cache.clone()) + h);
    };
    {
      Tensor h = x;
      for (int i = 0; i < 8; ++i) h = run([&] { return step(h, i); });
      all.push_back(torch::autograd::grad({h.sum()}, {x})[0]);
      all.push_back(h.detach());
    }
    run.end_step();
    all.push_back(cache);
    return all;
  });
  again += check("a generator of one's own", [](runner const& run) {
    nn::Linear l(32, 32);
    auto const x = torch::randn({64, 32}).requires_grad_();
    auto g = at::detail::createCPUGenerator(5);
    tensors all;
    {
      auto out = run([&] {
        Tensor h = x;
        for (int i = 0; i < 6; ++i)
          h = torch::tanh(l(h) * torch::rand({64, 32}, g)) + h * torch::empty_like(h).normal_(0, 0.1, g);
        return h;
      });
      all.push_back(torch::autograd::grad({out.sum()}, {x})[0]);
    }
    run.end_step();
    all.push_back(g.get_state());
    return all;
  });
  again += check("another default type in forward", [](runner const& run) {
    auto const x = torch::randn({64, 32}).requires_grad_();
    tensors all;
    {
      torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
      auto out = run([&] {
        Tensor h = x;
        for (int i = 0; i < 6; ++i)
          h = torch::tanh(h * torch::full({32}, 0.1).to(at::kFloat) +
                          torch::arange(0, 3.2, 0.1).slice(0, 0, 32).to(at::kFloat) + torch::rand({32}).to(at::kFloat));
        return h;
      });
      torch::set_default_dtype(caffe2::TypeMeta::Make<float>());
      all.push_back(torch::autograd::grad({out.sum()}, {x})[0]);
    }
    run.end_step();
    return all;
  });
  again += check("attention over other keys", [](runner const& run) {
    nn::MultiheadAttention a(nn::MultiheadAttentionOptions(32, 4));
    auto const x = torch::randn({16, 8, 32}), y = torch::randn({16, 8, 32});
    tensors all;
    {
      auto l = run([&] { return std::get<0>(a(x, y, y)).pow(2).sum(); });
      l.backward();
    }
    run.end_step();
    for (auto& g : left_in(*a)) all.push_back(g);
    return all;
  });
  again += check("grad inside forward (forces)", [](runner const& run) {
    nn::Linear a(8, 64), b(64, 1);
    auto const x = torch::randn({64, 8}).requires_grad_();
    tensors all;
    {
      auto l = run([&] {
        auto e = b(torch::tanh(a(x))).sum();
        auto f = torch::autograd::grad({e}, {x}, {}, true, true)[0];
        return f.pow(2).sum() + e;
      });
      l.backward();
      all.push_back(l.detach()), all.push_back(x.grad());
    }
    run.end_step();
    for (auto& g : left_in(*a)) all.push_back(g);
    for (auto& g : left_in(*b)) all.push_back(g);
    return all;
  });
  CHECK(again > 0);
}

}  // namespace record_findings_tests
