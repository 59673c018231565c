// SPDX-License-Identifier: Apache-2.0
// Back-propagation through time of a recurrent network in Eigen, over 2,000 steps with 20 hidden states kept.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <Eigen/Core>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct weights {
  MatrixXd recurrent;  // H x H
  VectorXd input;      // H x 1, for one number a step
};

double signal(cairn::step_index i) { return std::sin(0.05 * double(i)); }

/// h1 = tanh(W h + u s_i). With `noalias` and a target that has its size already, nothing is allocated.
void recur(VectorXd const& h, VectorXd& h1, weights const& w, cairn::step_index i) {
  h1 = w.input * signal(i);
  h1.noalias() += w.recurrent * h;
  h1 = h1.array().tanh();
}

/// Gets the state after the step too, which spares it the tanh.
void recur_adjoint(VectorXd const& h, VectorXd const& h1, VectorXd& bar, weights const& w, weights& w_bar,
                   cairn::step_index i) {
  bar.array() *= 1 - h1.array().square();
  w_bar.recurrent.noalias() += bar * h.transpose();
  w_bar.input += bar * signal(i);
  bar = w.recurrent.transpose() * bar;
}

int main() {
  cairn::step_index const n = 2'000;
  Eigen::Index const hidden = 32;
  std::srand(1);
  weights const w{MatrixXd::Random(hidden, hidden) * 0.3, VectorXd::Random(hidden)};
  weights const none{MatrixXd::Zero(hidden, hidden), VectorXd::Zero(hidden)};
  VectorXd const h0 = VectorXd::Zero(hidden);

  auto const seed = [](VectorXd const& h) -> VectorXd { return h; };  // the derivative of |h_n|^2 / 2

  weights ignored = none;
  auto const report = cairn::check_adjoint(
      [&](VectorXd const& h, VectorXd& h1, cairn::step_index i) { recur(h, h1, w, i); },
      [&](VectorXd const& h, VectorXd const& h1, VectorXd& bar, cairn::step_index i) {
        recur_adjoint(h, h1, bar, w, ignored, i);
      },
      h0, n);
  std::printf("%s\n", report.text().c_str());

  weights w_bar;
  auto const h0_bar =
      cairn::gradient(recur, h0, cairn::revolve{n, 20}, seed, recur_adjoint, cairn::wrt{w, w_bar});
  std::printf("|dJ/dW| = %.12g, |dJ/du| = %.12g\n", w_bar.recurrent.norm(), w_bar.input.norm());

  // The same with every state kept.
  std::vector<VectorXd> all(std::size_t(n) + 1, h0);
  for (cairn::step_index i = 0; i < n; ++i) recur(all[std::size_t(i)], all[std::size_t(i) + 1], w, i);
  weights want = none;
  VectorXd bar = seed(all.back());
  for (auto i = n; i-- > 0;) recur_adjoint(all[std::size_t(i)], all[std::size_t(i) + 1], bar, w, want, i);

  // isApprox: a compiler may round the two loops differently.
  return report.passed() && w_bar.recurrent.isApprox(want.recurrent) && w_bar.input.isApprox(want.input) &&
                 h0_bar.isApprox(bar)
             ? 0
             : 1;
}
