// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file effect_models.hpp  Small blocks that draw random numbers, read and write buffers, or both.
#include "support/torch.hpp"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace support {

/// A block from a tensor [12, 8] to one of the same size, with its parameters and buffers in order.
struct EffectBlockImpl : torch::nn::Module {
  using function = std::function<at::Tensor(EffectBlockImpl&, at::Tensor const&)>;

  EffectBlockImpl(function f, std::vector<at::Tensor> const& parameters, std::vector<at::Tensor> const& buffers)
      : f_{std::move(f)} {
    for (auto const& t : parameters) w.push_back(register_parameter("w" + std::to_string(w.size()), t.clone()));
    for (auto const& t : buffers) b.push_back(register_buffer("b" + std::to_string(b.size()), t.clone()));
  }
  at::Tensor forward(at::Tensor const& x) { return f_(*this, x); }

  std::vector<at::Tensor> w, b;

 private:
  function f_;
};
TORCH_MODULE(EffectBlock);

struct effect_model {
  char const* name;
  bool draws, has_buffers;
  std::int64_t parameters;                 ///< matrices [8, 8]
  std::vector<std::int64_t> zeros, ones;   ///< sizes of the buffers, zeros first; 0: a number
  EffectBlockImpl::function f;

  [[nodiscard]] EffectBlock block() const {
    std::vector<at::Tensor> w, b;
    for (std::int64_t k = 0; k < parameters; ++k) w.push_back(torch::randn({8, 8}) * 0.4);
    auto const size = [](std::int64_t n) { return n == 0 ? std::vector<std::int64_t>{} : std::vector{n}; };
    for (auto const n : zeros) b.push_back(torch::zeros(size(n)));
    for (auto const n : ones) b.push_back(torch::ones(size(n)));
    return EffectBlock(f, w, b);
  }
};

inline at::Tensor unit_vector(at::Tensor const& v) { return v / (v.norm() + 1e-6); }
/// One power iteration: changes u, and returns w over its largest singular value.
inline at::Tensor spectral(at::Tensor const& w, at::Tensor u) {
  at::Tensor v;
  {
    torch::NoGradGuard const off;
    v = unit_vector(w.t().mv(u));
    u.copy_(unit_vector(w.mv(v)));
  }
  return w / torch::dot(u.clone(), w.mv(v));
}
/// mean <- 0.9 mean + 0.1 now
inline void move_mean(at::Tensor mean, at::Tensor const& now) {
  torch::NoGradGuard const off;
  mean.mul_(0.9).add_(now.detach(), 0.1);
}

inline std::vector<effect_model> effect_models() {
  using at::Tensor;
  using block = EffectBlockImpl;
  return {
      {"dropout", true, false, 1, {}, {},
       [](block& m, Tensor const& x) { return torch::dropout(torch::tanh(x.mm(m.w[0])), 0.3, true) + x; }},
      {"noise and dropout, independent of each other", true, false, 2, {}, {},
       [](block& m, Tensor const& a) {
         auto const mu = a.mm(m.w[0]), sd = torch::sigmoid(a.mm(m.w[1]));
         return torch::tanh(mu + torch::randn_like(mu) * sd) + torch::dropout(mu, 0.4, true);
       }},
      {"RReLU last", true, false, 1, {}, {},
       [](block& m, Tensor const& x) { return torch::rrelu(x.mm(m.w[0]), 0.1, 0.4, true); }},
      {"a mixture of experts with noisy gates", true, false, 3, {}, {},
       [](block& m, Tensor const& x) {
         auto const logits = x.mm(m.w[0]).slice(1, 0, 2);
         auto const gate = torch::softmax(logits - torch::log(-torch::log(torch::rand_like(logits) * 0.98 + 0.01)), 1);
         return gate.slice(1, 0, 1) * torch::tanh(x.mm(m.w[1])) + gate.slice(1, 1, 2) * torch::gelu(x.mm(m.w[2]));
       }},
      {"stochastic depth", true, false, 1, {}, {},
       [](block& m, Tensor const& x) {
         return x + torch::tanh(x.mm(m.w[0])) * torch::bernoulli(torch::full({x.size(0), 1}, 0.7));
       }},
      {"alpha dropout, features too", true, false, 1, {}, {},
       [](block& m, Tensor const& x) {
         return torch::feature_dropout(torch::alpha_dropout(torch::selu(x.mm(m.w[0])), 0.2, true), 0.2, true);
       }},
      {"a sample of a latent variable", true, false, 3, {}, {},
       [](block& m, Tensor const& x) {
         auto const mu = x.mm(m.w[0]), log_sd = torch::tanh(x.mm(m.w[1]));
         auto const z = mu + torch::exp(log_sd) * at::normal(0., 1., mu.sizes());
         return torch::sigmoid(z.mm(m.w[2])) - 0.01 * (mu * mu + torch::exp(2 * log_sd) - log_sd);
       }},
      {"batch norm", false, true, 1, {8}, {8},
       [](block& m, Tensor const& x) {
         return torch::tanh(torch::batch_norm(x.mm(m.w[0]), {}, {}, m.b[0], m.b[1], true, 0.1, 1e-5, false));
       }},
      {"spectral norm", false, true, 1, {}, {8},
       [](block& m, Tensor const& x) { return torch::tanh(x.mm(spectral(m.w[0], m.b[0]))); }},
      {"a moving centre, read before it moves", false, true, 1, {8}, {},
       [](block& m, Tensor const& x) {
         auto const h = torch::tanh(x.mm(m.w[0]));
         auto const y = (h - m.b[0]) * (h - m.b[0]);
         move_mean(m.b[0], h.mean(0));
         return torch::sin(y - m.b[0]);
       }},
      {"a moving centre, moved before it is read", false, true, 1, {8}, {},
       [](block& m, Tensor const& x) {
         auto const h = torch::tanh(x.mm(m.w[0]));
         move_mean(m.b[0], h.mean(0));
         return torch::sin(h - m.b[0]) * h;
       }},
      {"batch norm whose running mean is read, too", false, true, 1, {8}, {8},
       [](block& m, Tensor const& x) {
         auto const h = torch::batch_norm(x.mm(m.w[0]), {}, {}, m.b[0], m.b[1], true, 0.1, 1e-5, false);
         return torch::tanh(h + m.b[0]) * torch::rsqrt(m.b[1] + 1);
       }},
      {"a counter of calls", false, true, 1, {0}, {},
       [](block& m, Tensor const& x) {
         m.b[0].add_(1);
         return torch::tanh(x.mm(m.w[0]) / m.b[0].clone());
       }},
      {"a codebook of moving means", false, true, 1, {}, {8, 8},
       [](block& m, Tensor const& x) {
         auto const h = torch::tanh(x.mm(m.w[0]));
         auto const codes = torch::stack({m.b[0], m.b[1] * -1});
         auto const share = torch::softmax(-torch::cdist(h, codes), 1);
         auto const y = h + share.mm(codes);
         move_mean(m.b[0], (share.slice(1, 0, 1) * h).mean(0));
         move_mean(m.b[1], (share.slice(1, 1, 2) * h).mean(0));
         return y;
       }},
      {"a queue of earlier outputs", false, true, 1, {32}, {},
       [](block& m, Tensor const& x) {
         auto const h = torch::tanh(x.mm(m.w[0]));
         auto const earlier = m.b[0].clone().view({4, 8});
         auto const y = h + torch::softmax(h.mm(earlier.t()), 1).mm(earlier);
         torch::NoGradGuard const off;
         m.b[0].copy_(torch::cat({m.b[0].slice(0, 8), h.detach().mean(0)}));
         return y;
       }},
      {"a scale that the first call sets", false, true, 1, {0}, {8},
       [](block& m, Tensor const& x) {
         auto const h = x.mm(m.w[0]);
         {
           torch::NoGradGuard const off;
           m.b[1].copy_(torch::where(m.b[0] > 0, m.b[1], 1 / (h.std(0) + 0.1)));
           m.b[0].fill_(1);
         }
         return torch::tanh(h * m.b[1].clone());
       }},
      {"a range that follows the largest value", false, true, 1, {0}, {},
       [](block& m, Tensor const& x) {
         auto const h = x.mm(m.w[0]);
         {
           torch::NoGradGuard const off;
           m.b[0].copy_(torch::maximum(m.b[0] * 0.9, h.abs().max()));
         }
         auto const range = m.b[0].clone();
         return torch::clamp(h / range, -0.8, 0.8) * range;
       }},
      {"batch renormalisation", false, true, 1, {8}, {8},
       [](block& m, Tensor const& x) {
         auto const h = x.mm(m.w[0]);
         auto const mean = h.mean(0), sd = h.std(0) + 1e-3;
         auto const r = torch::clamp(sd.detach() / m.b[1], 0.5, 2), d = (mean.detach() - m.b[0]) / m.b[1];
         auto const y = (h - mean) / sd * r + d;
         move_mean(m.b[0], mean);
         move_mean(m.b[1], sd);
         return torch::tanh(y);
       }},
      {"batch norm and dropout", true, true, 1, {8}, {8},
       [](block& m, Tensor const& x) {
         auto const h = torch::batch_norm(x.mm(m.w[0]), {}, {}, m.b[0], m.b[1], true, 0.1, 1e-5, false);
         return torch::dropout(torch::gelu(h), 0.3, true);
       }},
      {"spectral norm and noise", true, true, 1, {}, {8},
       [](block& m, Tensor const& x) {
         return torch::tanh((x + 0.1 * torch::randn_like(x)).mm(spectral(m.w[0], m.b[0])));
       }},
      {"a moving centre of what dropout leaves", true, true, 1, {8}, {},
       [](block& m, Tensor const& x) {
         auto const h = torch::dropout(torch::tanh(x.mm(m.w[0])), 0.3, true);
         auto const y = torch::sin(h - m.b[0]) * h;
         move_mean(m.b[0], h.mean(0));
         return y;
       }},
      {"noise that is kept in a buffer", true, true, 1, {8, 8}, {},
       [](block& m, Tensor const& x) {
         {
           torch::NoGradGuard const off;
           m.b[0].normal_();
           m.b[1].uniform_();
         }
         return torch::tanh((x * m.b[0].clone()).mm(m.w[0]) * m.b[1].clone());
       }},
      {"dropout with a rate that follows the values", true, true, 1, {}, {0},
       [](block& m, Tensor const& x) {
         auto const h = torch::tanh(x.mm(m.w[0]));
         auto const y = h * (torch::rand_like(h) < m.b[0] * 0.8);
         move_mean(m.b[0], h.abs().mean());
         return y * h;
       }},
      {"RReLU of a spectral norm, with a counter", true, true, 1, {0}, {8},
       [](block& m, Tensor const& x) {
         m.b[0].add_(1);
         return torch::rrelu(x.mm(spectral(m.w[0], m.b[1])) / m.b[0].clone(), 0.1, 0.3, true);
       }},
  };
}

}  // namespace support
