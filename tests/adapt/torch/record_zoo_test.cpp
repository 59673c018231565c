// SPDX-License-Identifier: Apache-2.0
// Operators in place, views, modules with state, errors, threads, second derivatives: recorded calls leave what plain
// ones leave.
#include "adapt/torch/models/recorded_programs.hpp"
#include <ATen/autocast_mode.h>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/record/region.hpp>
#include <cairn/adapt/torch/state/rng_states.hpp>
namespace record_zoo_tests {

using namespace recorded_programs;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

struct Cube : torch::autograd::Function<Cube> {
  static Tensor forward(torch::autograd::AutogradContext* c, Tensor x) {
    auto y = x * x;
    c->save_for_backward({x, y});
    return y * x;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* c,
                                                 torch::autograd::variable_list g) {
    auto s = c->get_saved_variables();
    return {g[0] * 3 * s[1] + 0 * s[0]};
  }
};
struct Cast {
  cl::detail::autocast_scope const back{cl::detail::autocast_state{}};
  Cast() {
    cl::detail::switch_autocast(at::kCPU, true);
    at::autocast::increment_nesting();
  }
  ~Cast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
};
inline runner const*& nested() {
  static runner const* one = nullptr;
  return one;
}
template <class F>
program one(F f, std::vector<std::int64_t> sizes = {128, 32}) {
  return [=](runner const& run) {
    auto g = torch::randn(sizes);
    auto x = g.requires_grad_();
    tensors all;
    nested() = &run;
    {
      auto y = run([&] { return f(x); });
      y.pow(2).mean().backward();
      all.push_back(y.detach().clone());
    }
    run.end_step();
    nested() = nullptr;
    all.push_back(x.grad()), all.push_back(generator_now());
    return all;
  };
}
template <class M, class F>
program with(M make, F f, std::vector<std::int64_t> sizes) {
  return [=](runner const& run) {
    auto net = make();
    tensors all;
    for (int k = 0; k < 2; ++k) {
      auto x = torch::randn(sizes).requires_grad_();
      {
        auto y = run([&] { return f(net, x); });
        y.pow(2).mean().backward();
        all.push_back(y.detach().clone());
      }
      run.end_step();
      all.push_back(x.grad());
    }
    for (auto& g : left_in(*net)) all.push_back(g);
    all.push_back(generator_now());
    return all;
  };
}
struct Res : nn::Module {
  nn::Conv2d a{nn::Conv2dOptions(8, 8, 3).padding(1).bias(false)}, b{nn::Conv2dOptions(8, 8, 3).padding(1)};
  nn::BatchNorm2d na{8}, nb{8};
  Res() { register_module("a", a), register_module("b", b), register_module("na", na), register_module("nb", nb); }
  Tensor forward(Tensor x) {
    auto h = na(a(x));
    torch::relu_(h);
    auto y = nb(b(h));
    y.add_(x);
    return torch::relu_(y);
  }
};
struct Recurrent : nn::Module {
  nn::LSTM l{nn::LSTMOptions(16, 16).num_layers(2).dropout(0.2)};
  nn::GRU g{16, 16};
  Recurrent() { register_module("l", l), register_module("g", g); }
};
struct Spectral : nn::Module {
  Tensor w = torch::randn({32, 32}), u = torch::randn({32});
  Spectral() {
    w = register_parameter("w", w);
    u = register_buffer("u", u);
  }
  Tensor forward(Tensor x) {
    Tensor v;
    {
      torch::NoGradGuard off;
      v = F::normalize(torch::mv(w.t(), u), F::NormalizeFuncOptions().dim(0));
      u.copy_(F::normalize(torch::mv(w, v), F::NormalizeFuncOptions().dim(0)));
    }
    auto const uu = u.clone(), vv = v.clone();
    auto const s = torch::dot(uu, torch::mv(w, vv));
    return torch::tanh(torch::tanh(x.mm(w / s)).mm(w / s));
  }
};
struct Words : nn::Module {
  nn::Embedding e{50, 16};
  nn::Linear l{16, 16};
  Words() { register_module("e", e), register_module("l", l); }
};
TEST_CASE("recorded calls of all kinds of programs leave what plain calls leave, within every limit",
          "[torch][record]") {
  std::int64_t again = 0;

  auto const a = torch::randn({32, 32}), c = torch::randn({32, 32});
  again += check("relu_ dropout_ add_ mul_", one([=](Tensor x) {
                   auto h = x;
                   for (int k = 0; k < 6; ++k) {
                     h = h.mm(a);
                     torch::relu_(h);
                     h = h + 1;
                     torch::dropout_(h, 0.2, true);
                     h = h.mm(c).add_(x).sigmoid_().mul(2).add_(h, 0.1).tanh_();
                   }
                   return h;
                 }));
  again += check("index_copy_ index_put_ masked_fill_", one([=](Tensor x) {
                   auto h = x.mm(a);
                   auto i = torch::arange(0, 128, 4);
                   for (int k = 0; k < 4; ++k) {
                     auto z = torch::tanh(h).clone();
                     z.index_copy_(0, i, torch::sin(h.index_select(0, i)));
                     z.masked_fill_(h > 1, 0.5);
                     z.index_put_({i + 1}, torch::cos(h.index({i})));
                     z.scatter_add_(0, i.unsqueeze(1).expand({32, 32}), torch::exp(-h.index_select(0, i).pow(2)));
                     h = z.mm(c) * 0.3;
                   }
                   return h;
                 }));
  again += check("copy_ into slices of zeros, empty", one([=](Tensor x) {
                   auto h = x;
                   for (int k = 0; k < 4; ++k) {
                     auto z = torch::zeros({128, 32});
                     z.slice(0, 0, 64).copy_(torch::tanh(h.slice(0, 64, 128)));
                     z.slice(0, 64, 128).copy_(torch::sin(h.slice(0, 0, 64)));
                     auto e = torch::empty({128, 32});
                     e.slice(1, 0, 16).copy_(z.slice(1, 16, 32));
                     e.slice(1, 16, 32).copy_(z.slice(1, 0, 16));
                     h = torch::tanh(e.mm(a)) * z;
                   }
                   return h;
                 }));
  again += check("views, split, cat, chunk, unbind, stack", one([=](Tensor x) {
                   auto h = x;
                   for (int k = 0; k < 4; ++k) {
                     auto p = h.view({4, 32, 32}).transpose(1, 2).split(8, 2);
                     h = torch::tanh(torch::cat({p[0].sin(), p[1].cos(), p[2], p[3].exp() * 0.1}, 2))
                             .transpose(1, 2)
                             .reshape({128, 32});
                     auto u = h.unbind(1);
                     std::reverse(u.begin(), u.end());
                     h = torch::stack(u, 1).expand({128, 32}).mm(a) * 0.2;
                     auto ch = h.chunk(2, 1);
                     h = torch::cat({ch[0] * torch::sigmoid(ch[1]), torch::tanh(ch[1])}, 1);
                   }
                   return h;
                 }));
  again += check("raw pointers at creation", one([=](Tensor x) {
                   auto h = x;
                   for (int k = 0; k < 4; ++k) {
                     auto m = torch::empty({32});
                     for (int i = 0; i < 32; ++i) m.data_ptr<float>()[i] = float(i % (k + 2));
                     auto z = torch::zeros({32, 32});
                     auto w = z.accessor<float, 2>();
                     for (int i = 0; i < 32; ++i) w[i][(i + k) % 32] = 1;
                     std::vector<float> v(32, 0.5f + float(k));
                     auto n = k == 0 ? torch::zeros_like(h) : k == 1 ? h.new_ones({32}) : torch::full_like(h, 0.5);
                     n.data_ptr<float>()[k] = 2;
                     h = torch::tanh(h.mm(z) * m + torch::tensor(v) + torch::tensor({1.0f, 2.0f}).sum()) * n;
                   }
                   return h;
                 }));
  again += check("a region keeps what nothing needs", one([=](Tensor x) {
                   Tensor h = x;
                   for (int k = 0; k < 4; ++k) {
                     h = cl::checkpoint(
                         [&](Tensor const& in) {
                           (void)cl::keep([&] { return (in.detach() + 1).exp(); });
                           return torch::tanh(in.mm(a) * 0.1);
                         },
                         h);
                     h = torch::rrelu(h, 0.1, 0.4, true);
                   }
                   return h;
                 }));
  again += check("ResNet blocks, batch norm training",
                 with(
                     [] {
                       nn::Sequential s;
                       for (int k = 0; k < 4; ++k) s->push_back(std::make_shared<Res>());
                       return s;
                     },
                     [](auto& n, Tensor x) { return n->forward(x * 1); }, {4, 8, 12, 12}));
  again += check("batch norm in evaluation", with(
                                                 [] {
                                                   nn::Sequential s;
                                                   for (int k = 0; k < 4; ++k) s->push_back(std::make_shared<Res>());
                                                   s->forward(torch::randn({4, 8, 12, 12}));
                                                   s->eval();
                                                   return s;
                                                 },
                                                 [](auto& n, Tensor x) { return n->forward(x * 1); }, {4, 8, 12, 12}));
  again +=
      check("LSTM, GRU", with([] { return std::make_shared<Recurrent>(); },
                              [](auto& n, Tensor x) { return std::get<0>(n->g(std::get<0>(n->l(x)))); }, {12, 8, 16}));
  again += check("spectral norm", with([] { return std::make_shared<Spectral>(); },
                                       [](auto& n, Tensor x) { return n->forward(x); }, {128, 32}));
  again += check("embedding, cumsum, sort, topk",
                 with([] { return std::make_shared<Words>(); },
                      [](auto& n, Tensor x) {
                        auto const i = (x.detach().abs() * 20).toType(at::kLong).clamp(0, 49);
                        auto h = n->e(i);
                        auto s = std::get<0>(torch::sort(torch::tanh(n->l(h)), -1));
                        auto [v, k] = torch::topk(s.cumsum(-1), 8, -1);
                        return torch::cat({v.sin(), torch::gather(s, -1, k)}, -1) + x.unsqueeze(-1);
                      },
                      {64, 12}));
  again += check("autocast bfloat16", with(
                                          [] {
                                            nn::Sequential s;
                                            for (int k = 0; k < 4; ++k)
                                              s->push_back(nn::Linear(32, 32)), s->push_back(nn::Tanh()),
                                                  s->push_back(nn::Dropout(0.1));
                                            return s;
                                          },
                                          [](auto& n, Tensor x) {
                                            Cast const on;
                                            auto y = n->forward(x);
                                            y = n->forward(y.toType(at::kFloat)) + x;
                                            return y.toType(at::kFloat);
                                          },
                                          {128, 32}));
  again += check("custom Function", one([=](Tensor x) {
                   auto h = x;
                   for (int k = 0; k < 5; ++k) h = torch::tanh(Cube::apply(h.mm(a) * 0.1));
                   return h;
                 }));
  again += check("control by item, nonzero, unique", one([=](Tensor x) {
                   auto h = x;
                   for (int k = 0; k < 12 && h.pow(2).mean().item<double>() > 0.02; ++k) {
                     auto i = (h.detach().select(1, 0) > 0).nonzero().squeeze(1);
                     h = torch::tanh(h.mm(a) * 0.1).index_add(0, i, h.index_select(0, i).sin() * 0.1);
                     auto b = torch::masked_select(h, h > 0.1);
                     h = h + b.mean();
                   }
                   return h;
                 }));
  again += check("no_grad parts, inference", one([=](Tensor x) {
                   auto h = x;
                   for (int k = 0; k < 4; ++k) {
                     Tensor m;
                     {
                       torch::NoGradGuard off;
                       m = (h.mm(a).sigmoid_() > 0.5).to(at::kFloat);
                     }
                     Tensor s;
                     {
                       torch::InferenceMode on;
                       s = torch::ones({32}) * (k + 1);
                       s.mul_(0.5);
                     }
                     h = torch::tanh(h.mm(c) * m + s.clone());
                   }
                   return h;
                 }));
  again += check("double backward", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    tensors all;
    {
      auto y = run([&] {
        auto h = x;
        for (int k = 0; k < 4; ++k) h = torch::tanh(h.mm(a)) * torch::dropout(h, 0.2, true);
        return h;
      });
      auto g = torch::autograd::grad({y.pow(2).mean()}, {x}, {}, true, true)[0];
      auto h = torch::autograd::grad({g.pow(2).sum()}, {x})[0];
      all = {g.detach(), h};
    }
    run.end_step();
    return all;
  });
  again += check("retain_graph, three times", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    tensors all;
    {
      auto y = run([&] {
        auto h = x;
        for (int k = 0; k < 6; ++k) h = torch::tanh(h.mm(a)) * torch::dropout(h, 0.2, true);
        return h;
      });
      for (int k = 0; k < 3; ++k) all.push_back(torch::autograd::grad({y.pow(2).mean() * (k + 1)}, {x}, {}, true)[0]);
      all.push_back(torch::autograd::grad({y.sum()}, {x})[0]);
    }
    run.end_step();
    return all;
  });
  again += check("backward twice without retain", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    {
      auto y = run([&] { return torch::tanh(torch::tanh(x.mm(a)).mm(a)); });
      y.sum().backward();
      y.sum().backward();
    }
    run.end_step();
    return tensors{x.grad()};
  });
  again += check("output changed after the call", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    {
      auto y = run([&] { return torch::tanh(torch::tanh(x.mm(a)).mm(a)); });
      y.mul_(2);
      y.sum().backward();
    }
    run.end_step();
    return tensors{x.grad()};
  });
  again += check("output changed, not saved", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    {
      auto y = run([&] {
        auto h = torch::tanh(torch::tanh(x.mm(a)).mm(a));
        return h + torch::sin(h);
      });
      y.mul_(2);
      y.add_(x);
      y.sum().backward();
    }
    run.end_step();
    return tensors{x.grad()};
  });
  again += check("an intermediate changed after", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    Tensor mid;
    {
      auto y = run([&] {
        mid = torch::sin(x.mm(a));
        auto h = mid + 1;
        return torch::tanh(torch::tanh(h).mm(a));
      });
      {
        torch::NoGradGuard off;
        mid.mul_(3);
      }
      y.sum().backward();
    }
    run.end_step();
    return tensors{x.grad(), mid.detach()};
  });
  again += check("input changed after (saved)", [=](runner const& run) {
    auto x = torch::randn({128, 32}), w = torch::randn({32, 32}).requires_grad_();
    {
      auto y = run([&] { return torch::tanh(torch::tanh(x.mm(w)).mm(a)); });
      x.mul_(2);
      y.sum().backward();
    }
    run.end_step();
    return tensors{w.grad()};
  });
  again += check("exception in forward, then again", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    tensors all;
    for (int k = 0; k < 3; ++k) {
      try {
        auto y = run([&] {
          auto h = torch::tanh(x.mm(a));
          if (k == 1) throw std::runtime_error("from the program");
          return torch::tanh(h.mm(c));
        });
        y.sum().backward();
      } catch (std::runtime_error const&) { all.push_back(torch::ones({1})); }
      run.end_step();
    }
    all.push_back(x.grad());
    return all;
  });
  again += check("backward in another thread", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    {
      auto y = run([&] {
        auto h = x;
        for (int k = 0; k < 6; ++k) h = torch::dropout(torch::tanh(h.mm(a)), 0.1, true);
        return h;
      });
      std::thread([&] { y.sum().backward(); }).join();
    }
    run.end_step();
    return tensors{x.grad(), generator_now()};
  });
  again += check("two models in two threads", [=](runner const& run) {
    auto work = [&](int s) {
      auto g = at::detail::createCPUGenerator(std::uint64_t(s));
      auto x = torch::randn({128, 32}, g).requires_grad_();
      for (int r = 0; r < 5; ++r) {
        auto y = run([&] {
          auto h = x;
          for (int k = 0; k < 6; ++k) h = torch::tanh(h.mm(a)) * torch::rand({128, 32}, g);
          return h;
        });
        y.sum().backward();
      }
      return x.grad();
    };
    Tensor p, q;
    {
      std::thread one([&] { p = work(1); });
      std::thread two([&] { q = work(2); });
      one.join(), two.join();
    }
    run.end_step();
    return tensors{p, q};
  });
  again += check("two losses, parts of the graph", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    tensors all;
    {
      auto [y, z] = run([&] {
        auto h = x;
        for (int k = 0; k < 4; ++k) h = torch::tanh(h.mm(a));
        auto u = torch::sin(h.mm(c)), v = torch::exp(-h.pow(2));
        return std::make_pair(u, v);
      });
      z.sum().backward({}, true);
      all.push_back(x.grad().clone());
      y.sum().backward();
      all.push_back(x.grad().clone());
    }
    run.end_step();
    return all;
  });
  again += check("detached, requires_grad_ inside", one([=](Tensor x) {
                   auto h = torch::tanh(x.mm(a));
                   auto d = h.detach().requires_grad_();
                   auto e = torch::sin(d).sum();
                   auto g = torch::autograd::grad({e}, {d})[0];
                   return torch::tanh((h + g).mm(c)) + h.data();
                 }));
  again += check("complex, fft, conj", one([=](Tensor x) {
                   auto h = x;
                   for (int k = 0; k < 3; ++k) {
                     auto f = torch::fft::rfft(h);
                     auto g = f.conj() * f;
                     h = torch::fft::irfft(g * torch::polar(torch::ones({17}), torch::arange(17) * 0.1), 32) * 0.01;
                     h = torch::tanh(h + torch::real(f).mean());
                   }
                   return h;
                 }));
  again += check("sparse inside", one([=](Tensor x) {
                   auto s = a.to_sparse();
                   auto h = x;
                   for (int k = 0; k < 3; ++k) h = torch::tanh(torch::mm(s, h.t()).t() * 0.1);
                   return h;
                 }));
  again += check("linear algebra", one([=](Tensor x) {
                   auto h = x.view({4, 32, 32});
                   for (int k = 0; k < 2; ++k) {
                     auto s = h.matmul(h.transpose(1, 2)) + 32 * torch::eye(32);
                     auto l = torch::linalg_cholesky(s);
                     h = torch::tanh(torch::linalg_solve(s, l) + torch::inverse(s));
                   }
                   return h;
                 }));
  again += check(
      "pools, pads, norms, upsampling",
      with(
          [] {
            nn::Sequential s(
                nn::Conv2d(nn::Conv2dOptions(8, 16, 3)), nn::GroupNorm(nn::GroupNormOptions(4, 16)),
                nn::ELU(nn::ELUOptions().inplace(true)), nn::MaxPool2d(2), nn::Dropout2d(0.2),
                nn::InstanceNorm2d(nn::InstanceNorm2dOptions(16).affine(true).track_running_stats(true)),
                nn::ReflectionPad2d(1), nn::ConvTranspose2d(nn::ConvTranspose2dOptions(16, 8, 2)),
                nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({6, 6})),
                nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2.0, 2.0}).mode(torch::kNearest)),
                nn::AlphaDropout(0.2), nn::PReLU());
            return s;
          },
          [](auto& n, Tensor x) { return n->forward(x); }, {4, 8, 12, 12}));
  again += check("resize, set_data, out=", one([=](Tensor x) {
                   auto h = x;
                   auto o = torch::empty({0});
                   for (int k = 0; k < 4; ++k) {
                     Tensor m;
                     {
                       torch::NoGradGuard off;
                       at::mm_out(o, h, a);
                       m = o.clone().sigmoid_();
                       auto q = torch::empty({2});
                       at::sin_out(q, m);
                       m = m + q;
                       auto r = torch::zeros({4});
                       r.resize_({128, 32}).copy_(m);
                       r.set_data(r * 2);
                       m = r + 1;
                     }
                     h = torch::tanh(h.mm(c) * m);
                   }
                   return h;
                 }));
  again += check("double use, shared storage slices", one([=](Tensor x) {
                   auto big = torch::tanh(x.mm(a));
                   auto l = big.slice(1, 0, 16), r = big.slice(1, 16, 32);
                   auto h = l * torch::sin(r) + torch::exp(-l) * r;
                   return torch::cat({h, h.square() * l}, 1) + big;
                 }));
  again += check("a call within a call", one([=](Tensor x) {
                   auto h = x;
                   auto b = torch::zeros({32});
                   for (int k = 0; k < 4; ++k) {
                     auto const inner = [&](Tensor in) {
                       {
                         torch::NoGradGuard off;
                         b.mul_(0.5).add_(in.mean(0));
                       }
                       return torch::tanh(in.mm(a) + torch::dropout(in, 0.1, true) * b.clone());
                     };
                     h = torch::sin(nested() ? (*nested())([&] { return inner(h); }) : inner(h)) * b.clone();
                   }
                   return h;
                 }));
  again += check("two calls, then their backward", [=](runner const& run) {
    auto x = torch::randn({128, 32}).requires_grad_();
    auto b = torch::zeros({32});
    tensors all;
    {
      auto const f = [&](Tensor h) {
        for (int k = 0; k < 4; ++k) {
          b.data().mul_(0.5).add_(h.detach().mean(0));
          h = torch::tanh(h.mm(a) + b.clone());
        }
        return h;
      };
      auto y = run([&] { return f(x); }), z = run([&] { return f(x * 2); });
      z.sum().backward();
      all.push_back(x.grad().clone());
      y.sum().backward();
      all.push_back(x.grad()), all.push_back(b);
    }
    run.end_step();
    return all;
  });
  again += check("draws that name no generator", one([=](Tensor x) {
                   auto h = x;
                   for (int k = 0; k < 4; ++k)
                     h = torch::tanh(h.mm(a) * torch::rand({32}) + torch::randn_like(h) +
                                     std::get<0>(torch::native_dropout(h, 0.2, true)));
                   return h;
                 }));
  CHECK(again > 0);
}

}  // namespace record_zoo_tests
