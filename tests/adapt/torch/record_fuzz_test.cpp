// SPDX-License-Identifier: Apache-2.0
// Random programs of operators in place, views, draws, buffers, branches by value and regions in regions, in one to
// three calls of several lengths, one to three steps of training, and one or two passes.
#include "adapt/torch/models/recorded_programs.hpp"
#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>
#include <cairn/adapt/torch/record/region.hpp>
namespace record_fuzz_tests {

using namespace recorded_programs;
namespace nn = torch::nn;
namespace F = torch::nn::functional;

/// Saves an input and a result.
struct Saving : torch::autograd::Function<Saving> {
  static Tensor forward(torch::autograd::AutogradContext* kept, Tensor const& x, double factor) {
    auto const y = torch::sin(x) * factor;
    kept->save_for_backward({x, y});
    kept->saved_data["factor"] = factor;
    return y;
  }
  static tensors backward(torch::autograd::AutogradContext* kept, tensors const& bar) {
    auto const saved = kept->get_saved_variables();
    return {bar[0] * (torch::cos(saved[0]) * kept->saved_data["factor"].toDouble() + 0 * saved[1]), Tensor{}};
  }
};

/// The results of each call go into the next one. Between some of them a step of training ends.
class random_program {
 public:
  random_program(runner const& run, unsigned seed) : run_{run}, r_{seed}, own_{at::detail::createCPUGenerator(seed)} {
    for (int k = 0; k < 4; ++k) params_.push_back((torch::randn({16, 16}) * 0.3).requires_grad_());
  }
  tensors leave() {
    x_ = torch::randn({24, 16}).requires_grad_();
    bool const later = pick(2);
    for (int calls = 1 + pick(3); calls > 0; --calls) {
      n_ = pick(2) ? 24 : 4 * (2 + pick(3));
      auto const depth = 4 + pick(10);
      auto const in = n_ <= x_.size(0) ? x_.slice(0, 0, n_) : x_.repeat({3, 1}).slice(0, 0, n_);
      x_ = run_([&] { return body(in, depth); });
      outs_.push_back(x_);
      if (later && pick(2)) {
        torch::NoGradGuard const off;
        buffer_.add_(0.3);
        ring_.mul_(0.5);
      }
      if (calls == 1 || pick(3) == 0) step();
    }
    all_.insert(all_.end(),
                {buffer_, ring_, mean_, variance_, member_, scale_, scratch_, generator_now(), own_.get_state()});
    return all_;
  }

 private:
  [[nodiscard]] int pick(int n) { return int(r_() % unsigned(n)); }
  [[nodiscard]] Tensor& one_of(std::vector<Tensor>& all) { return all[std::size_t(pick(int(all.size())))]; }

  /// One or two backward passes, and a change of the parameters.
  void step() {
    Tensor loss = torch::zeros({});
    for (auto const& o : outs_) loss = loss + o.pow(2).mean();
    tensors grads;
    for (int passes = 1 + pick(2); passes > 0; --passes) {
      grads = torch::autograd::grad({loss}, params_, {}, passes > 1, false, true);
      all_.insert(all_.end(), grads.begin(), grads.end());
    }
    run_.end_step();
    all_.push_back(loss.detach());
    bool const by_data = pick(2);
    torch::NoGradGuard const off;
    for (std::size_t k = 0; k < grads.size(); ++k)
      if (grads[k].defined()) (by_data ? params_[k].data() : params_[k]).sub_(grads[k], 0.1);
    outs_.clear();
    x_ = x_.detach().requires_grad_();
  }
  Tensor body(Tensor const& in, int depth) {
    std::vector<Tensor> live{torch::tanh(in)};  // values of n x 16
    for (int k = 0; k < depth; ++k) {
      auto& a = one_of(live);
      Tensor const b = one_of(live);
      Tensor const y = value(a, b, one_of(params_));
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
  }
  Tensor value(Tensor const a, Tensor const& b, Tensor const& w) {
    auto const n = n_, half = n / 2, quarter = n / 4;
    Tensor y;
    switch (pick(58)) {
      case 0:
        return torch::tanh(a.mm(w));
      case 1:
        return a * torch::sigmoid(b);
      case 2:
        return torch::dropout(a, 0.2, true);
      case 3:
        y = a.clone();
        y.slice(0, 0, half).mul_(torch::sin(b.slice(0, half, n)));
        return y;
      case 4:
        y = a + b;
        return y.add_(w.select(0, pick(16))).tanh_();
      case 5:
        return torch::cat({a.slice(1, 8, 16), b.slice(1, 0, 8)}, 1);
      case 6:
        return torch::layer_norm(a, {16});
      case 7: {
        torch::NoGradGuard const off;
        buffer_.mul_(0.9).add_(a.mean(0), 0.1);
      }
        return torch::tanh(a - buffer_.clone());
      case 8: {
        torch::NoGradGuard const off;
        ring_.select(0, pick(4)).copy_(a.mean(0));
      }
        return a + 0.1 * torch::tanh(b.mm(ring_.clone().t()).mm(ring_.clone()));
      case 9:
        y = torch::zeros({n, 16});
        y.slice(0, 0, half).copy_(a.slice(0, half, n));
        y.slice(0, half, n).copy_(torch::cos(b.slice(0, 0, half)));
        return y;
      case 10:
        y = torch::empty({n, 16});
        y.select(1, 0).copy_(a.select(1, 3));
        y.slice(1, 1, 16).copy_(b.slice(1, 0, 15));
        return y;
      case 11:
        if (a.mean().item<float>() > 0) return torch::sin(a);
        return torch::exp(-a.pow(2)) * b;
      case 12:
        return a * torch::rand({n, 16}, own_);
      case 13:
        return a + torch::empty_like(a).normal_(0, 0.1);
      case 14:
        return torch::softmax(a.reshape({n, 4, 4}), -1).transpose(1, 2).reshape({n, 16}) + b;
      case 15:
        y = a.clone();
        y.index_add_(0, torch::arange(0, n, 4), torch::sin(b.slice(0, 0, quarter)));
        return y;
      case 16: {
        y = a + 0.1;
        auto v = y.slice(1, pick(8), 12);
        v.mul_(2);
      }
        return y.sin();
      case 17:
        return torch::batch_norm(a, {}, {}, mean_, variance_, true, 0.1, 1e-5, false);
      case 18: {
        auto m = torch::empty({16});
        for (int i = 0; i < 16; ++i) m.data_ptr<float>()[i] = float(pick(3));
        return a * m;
      }
      case 19:
        return torch::scatter_add(a, 0, torch::randint(0, n, {quarter, 16}), b.slice(0, 0, quarter).sin());
      case 20:
        return torch::where(a > b, a.sin(), b.cos());
      case 21:
        return a.masked_fill(torch::bernoulli(torch::full({n, 16}, 0.3)).to(at::kBool), 0.5);
      case 22: {
        auto u = a.unbind(1);
        std::reverse(u.begin(), u.end());
        return torch::stack(u, 1).mm(w);
      }
      case 23:
        return torch::prelu(a, w.select(0, 0));
      case 24:
        return std::get<0>(a.max(0)) * b;
      case 25:
        return torch::rrelu(a, 0.1, 0.3, true);
      case 26: {
        torch::NoGradGuard const off;
        buffer_.data().mul_(0.5).add_(1);
      }
        return a * buffer_.clone();
      case 55: {
        torch::NoGradGuard const off;
        scale_.data().mul_(0.5).add_(1);
      }
        return a * scale_;  // saved, and changed by the next one
      case 56:
        y = torch::tanh(a);
        {
          auto const z = y * b;
          y.data().slice(1, pick(8), 12).mul_(0.5);
          return z;
        }
      case 27:
        y = (a * 1).detach().requires_grad_();
        return torch::autograd::grad({torch::sin(y).sum()}, {y})[0] + b;
      case 28:
        return torch::gelu(a.mm(w).mm(one_of(params_).t())) * 0.5;
      case 29:
      case 30:
      case 31:
        if (level_ == 3) return a.cos();
        ++level_;
        y = run_.part([&, depth = 1 + pick(8)] { return body(a, depth); });
        --level_;
        return y;
      case 32:
      case 33: {  // as LSTMs do: each part has a version of its own
        auto const g = pick(2) ? a.mm(w) : a + b;
        auto parts = g.unsafe_chunk(4, pick(2));
        std::shuffle(parts.begin(), parts.end(), r_);
        parts[0].sigmoid_(), parts[1].tanh_(), parts[2].mul_(2);
        if (pick(2)) parts[3].exp_();
        auto const z = parts[0] * parts[1] + parts[2].sigmoid() * parts[3];
        return b + z.sum() / double(n) + (z.size(0) == n ? z.mean(1, true) : z.mean(0, true));
      }
      case 34: {
        auto const [h, c] = at::lstm_cell(a, {b, a}, torch::cat(params_), torch::cat({w, w, w, params_[0]}));
        return h * c;
      }
      case 35: {
        auto const form = pick(4);
        auto m = form == 0   ? torch::zeros_like(a)
                 : form == 1 ? torch::full_like(a, 0.5)
                 : form == 2 ? a.new_ones({n, 16})
                             : torch::empty_like(a).fill_(0.3);
        if (form < 3) m.data_ptr<float>()[pick(16)] = 1.5;  // a raw pointer writes when it was just made
        return a * m + b;
      }
      case 36:
        y = a.clone();
        return y.index_put_({torch::randint(0, n, {quarter}, at::kLong)}, b.slice(0, 0, quarter), true);
      case 37: {
        auto const [sorted, order] = a.sort(0);
        return sorted * 0.5 + torch::gather(b, 0, order);
      }
      case 38:
        return (a.to(at::kBFloat16) * b.to(at::kBFloat16)).to(at::kFloat) + a;
      case 39: {
        auto const complex = [&](Tensor const& t) { return torch::view_as_complex(t.clone().reshape({n, 8, 2})); };
        return torch::view_as_real(complex(a) * complex(b).conj()).reshape({n, 16});
      }
      case 40:
        return Saving::apply(a, 0.5 + pick(3)) + b;
      case 41:
        y = a * 1;
        y.register_hook([](Tensor const& g) { return g * 0.5 + g.tanh(); });
        return y.sin();
      case 42: {
        torch::NoGradGuard const off;
        auto out = scratch_.slice(0, 0, n);
        at::mul_out(out, a, b);
      }
        return a + torch::sin(scratch_.slice(0, 0, n).clone() * b);
      case 43:
        return torch::autograd::grad({torch::tanh(a * b).sum()}, {a}, {}, true, true)[0] + b;
      case 44:
        try {
          (void)a.mm(torch::ones({3, 3}));
        } catch (c10::Error const&) {}
        return a.cos() * b;
      case 45: {
        auto const e = torch::sin(a * 2);
        e.detach().mul_(0.9);
        return e * b;
      }
      case 46: {
        torch::NoGradGuard const off;
        member_ = member_ * 0.9 + a.mean(0) * 0.1;
      }
        return a - member_ * b;
      case 47:
        return cl::keep([&] { return torch::tanh(torch::exp(a * 0.3).mm(w)); });
      case 48: {
        auto const some = a.masked_select(a > 0.1);
        return b * (some.sum() / double(some.numel() + 1)) + a;
      }
      case 49:
        y = a.clone();
        y.view({n, 4, 4}).select(1, pick(4)).transpose(0, 1).mul_(0.5);
        return y * b;
      case 50: {
        auto const m = torch::ones_like(a);
        m.slice(1, 4, 8).bernoulli_(0.5);
        m.select(0, 1).uniform_();
        return a * m;
      }
      case 51:
        return a.index_select(0, torch::randperm(n)) + b.sin();
      case 52:
        return torch::cat({torch::max_pool1d(a.unsqueeze(1), 2).squeeze(1), b.slice(1, 0, 8)}, 1);
      case 53:
        return a.cumsum(0) * 0.1 + b.mean(0, true).expand({n, 16}) * a;
      case 54: {
        auto const more = torch::gru_cell(a, b, torch::cat({w, w, params_[1]}), torch::cat({w, params_[2], w}));
        return more * a;
      }
      default:
        return a.std(0, true, true) * b + a.logsumexp(1, true);
    }
  }

  runner const& run_;
  std::mt19937 r_;
  at::Generator own_;
  tensors all_;
  std::vector<Tensor> params_, outs_;
  Tensor x_, buffer_ = torch::zeros({16}), ring_ = torch::zeros({4, 16}), mean_ = torch::zeros({16}),
             variance_ = torch::ones({16}), member_ = torch::zeros({16}), scale_ = torch::ones({16}),
             scratch_ = torch::zeros({24, 16});
  std::int64_t n_ = 24;
  int level_ = 0;
};
/// \param in_all_ways  or each in some of them
void check_programs(unsigned from, unsigned to, bool in_all_ways) {
  std::int64_t again = 0;
  for (unsigned seed = from; seed < to; ++seed) {
    program const one = [seed](runner const& run) {
      torch::manual_seed(seed);
      return random_program{run, seed}.leave();
    };
    again += check("program " + std::to_string(seed), one, in_all_ways ? -1 : int(seed));
  }
  CHECK(again > std::int64_t(to - from));
}

TEST_CASE("500 random programs leave what they leave without records, within every limit", "[torch][record]") {
  check_programs(0, 500, false);
}
TEST_CASE("so do 10,000, each in all ways", "[torch][record][.soak]") { check_programs(500, 10'500, true); }

}  // namespace record_fuzz_tests
