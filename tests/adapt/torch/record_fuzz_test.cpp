// SPDX-License-Identifier: Apache-2.0
// Random programs of operators in place, views, draws, buffers, branches by value and regions in regions, in one to
// three calls and one or two passes.
#include "adapt/torch/models/recorded_programs.hpp"
#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>
namespace record_fuzz_tests {

using namespace recorded_programs;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

tensors random_program(runner const& run, unsigned seed) {
  std::mt19937 r(seed);
  auto const pick = [&](int n) { return int(r() % unsigned(n)); };
  auto const one_of = [&](std::vector<Tensor>& all) -> Tensor& { return all[std::size_t(pick(int(all.size())))]; };
  std::vector<Tensor> params;
  for (int k = 0; k < 4; ++k) params.push_back((torch::randn({16, 16}) * 0.3).requires_grad_());
  Tensor buffer = torch::zeros({16}), ring = torch::zeros({4, 16}), mean = torch::zeros({16}),
         variance = torch::ones({16});
  Tensor x = torch::randn({24, 16}).requires_grad_();
  auto own = at::detail::createCPUGenerator(seed);
  tensors all;
  std::vector<Tensor> outs;
  int const calls = 1 + pick(3), passes = 1 + pick(2);
  bool const later = pick(2);
  int level = 0;
  std::function<Tensor(Tensor, int)> body = [&](Tensor in, int depth) {
    std::vector<Tensor> live{torch::tanh(in)};  // values of 24 x 16
    for (int k = 0; k < depth; ++k) {
      auto& a = one_of(live);
      Tensor b = one_of(live), y;
      auto const& w = one_of(params);
      switch (pick(32)) {
        case 0:
          y = torch::tanh(a.mm(w));
          break;
        case 1:
          y = a * torch::sigmoid(b);
          break;
        case 2:
          y = torch::dropout(a, 0.2, true);
          break;
        case 3:
          y = a.clone();
          y.slice(0, 0, 12).mul_(torch::sin(b.slice(0, 12, 24)));
          break;
        case 4:
          y = a + b;
          y.add_(w.select(0, pick(16))).tanh_();
          break;
        case 5:
          y = torch::cat({a.slice(1, 8, 16), b.slice(1, 0, 8)}, 1);
          break;
        case 6:
          y = torch::layer_norm(a, {16});
          break;
        case 7: {
          torch::NoGradGuard off;
          buffer.mul_(0.9).add_(a.mean(0), 0.1);
        }
          y = torch::tanh(a - buffer.clone());
          break;
        case 8: {
          torch::NoGradGuard off;
          ring.select(0, pick(4)).copy_(a.mean(0));
        }
          y = a + 0.1 * torch::tanh(b.mm(ring.clone().t()).mm(ring.clone()));
          break;
        case 9:
          y = torch::zeros({24, 16});
          y.slice(0, 0, 12).copy_(a.slice(0, 12, 24));
          y.slice(0, 12, 24).copy_(torch::cos(b.slice(0, 0, 12)));
          break;
        case 10:
          y = torch::empty({24, 16});
          y.select(1, 0).copy_(a.select(1, 3));
          y.slice(1, 1, 16).copy_(b.slice(1, 0, 15));
          break;
        case 11:
          if (a.mean().item<float>() > 0) y = torch::sin(a);
          else y = torch::exp(-a.pow(2)) * b;
          break;
        case 12:
          y = a * torch::rand({24, 16}, own);
          break;
        case 13:
          y = a + torch::empty_like(a).normal_(0, 0.1);
          break;
        case 14:
          y = torch::softmax(a.view({24, 4, 4}), -1).transpose(1, 2).reshape({24, 16}) + b;
          break;
        case 15:
          y = a.clone();
          y.index_add_(0, torch::arange(0, 24, 3), torch::sin(b.slice(0, 0, 8)));
          break;
        case 16:
          y = a + 0.1;
          {
            auto v = y.slice(1, pick(8), 12);
            v.mul_(2);
          }
          y = y.sin();
          break;
        case 17:
          y = torch::batch_norm(a, {}, {}, mean, variance, true, 0.1, 1e-5, false);
          break;
        case 18: {
          auto m = torch::empty({16});
          for (int i = 0; i < 16; ++i) m.data_ptr<float>()[i] = float(pick(3));
          y = a * m;
        } break;
        case 19:
          y = torch::scatter_add(a, 0, torch::randint(0, 24, {6, 16}), b.slice(0, 0, 6).sin());
          break;
        case 20:
          y = torch::where(a > b, a.sin(), b.cos());
          break;
        case 21:
          y = a.masked_fill(torch::bernoulli(torch::full({24, 16}, 0.3)).to(at::kBool), 0.5);
          break;
        case 22: {
          auto u = a.unbind(1);
          std::reverse(u.begin(), u.end());
          y = torch::stack(u, 1).mm(w);
        } break;
        case 23:
          y = torch::prelu(a, w.select(0, 0));
          break;
        case 24:
          y = std::get<0>(a.max(0)) * b;
          break;
        case 25:
          y = torch::rrelu(a, 0.1, 0.3, true);
          break;
        case 26: {
          torch::NoGradGuard off;
          buffer.data().mul_(0.5).add_(1);
        }
          y = a * buffer.clone();
          break;
        case 27:
          y = (a * 1).detach().requires_grad_();
          y = torch::autograd::grad({torch::sin(y).sum()}, {y})[0] + b;
          break;
        case 28:
          y = torch::gelu(a.mm(w).mm(one_of(params).t())) * 0.5;
          break;
        case 29:
        case 30:
          if (level < 3) {
            ++level;
            y = run.part([&, depth = 1 + pick(8)] { return body(a, depth); });
            --level;
            break;
          }
          [[fallthrough]];
        default:
          y = a.std(0, true, true) * b + a.logsumexp(1, true);
          break;
      }
      if (pick(3) == 0) one_of(live) = y;
      else live.push_back(y);
      if (pick(12) == 0 && live.size() > 1) {
        auto& v = one_of(live);
        v = v * 1;
        v.mul_(0.7).sub_(0.1);
      }  // of our own
      if (pick(10) == 0 && live.size() > 3) live.erase(live.begin() + pick(int(live.size())));
    }
    Tensor s = live[0];
    for (auto const& t : live) s = s + t * (1.0 / double(live.size()));
    return s;
  };
  for (int c = 0; c < calls; ++c) {
    auto const depth = 6 + pick(30);
    x = run([&] { return body(x, depth); });
    outs.push_back(x);
    if (later && pick(2)) {
      torch::NoGradGuard off;
      buffer.add_(0.3);
      ring.mul_(0.5);
    }
  }
  Tensor loss = torch::zeros({});
  for (auto const& o : outs) loss = loss + o.pow(2).mean();
  std::vector<Tensor> at = params;
  for (int k = 0; k < passes; ++k)
    for (auto& g : torch::autograd::grad({loss}, at, {}, k + 1 < passes, false, true)) all.push_back(g);
  run.end_step();
  all.insert(all.end(), {loss.detach(), buffer, ring, mean, variance, generator_now(), own.get_state()});
  return all;
}
void check_programs(unsigned from, unsigned to) {
  std::int64_t again = 0;
  for (unsigned seed = from; seed < to; ++seed) {
    program const one = [seed](runner const& run) {
      torch::manual_seed(seed);
      return random_program(run, seed);
    };
    again += check("program " + std::to_string(seed), one, int(seed));
  }
  CHECK(again > std::int64_t(to - from));
}

TEST_CASE("150 random programs leave what they leave without records, within every limit", "[torch][record]") {
  check_programs(0, 150);
}
TEST_CASE("so do 10,000", "[torch][record][.soak]") { check_programs(150, 10'150); }

}  // namespace record_fuzz_tests
