// SPDX-License-Identifier: Apache-2.0
// A solver object that cannot be copied. It is the state of the loop all the same: it only has to hand out a snapshot
// of what changes from step to step, save(), and take one back, restore(). Its tables stay where they are.

#include <cmath>
#include <cstdio>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/run/check/check_adjoint.hpp>

/// du/dt = u_xx + u - u^3 on a line, zero beyond its ends: diffusion implicit, reaction explicit.
class reaction_solver {
 public:
  explicit reaction_solver(std::size_t cells) : u_(cells), pivot_(cells) {
    for (std::size_t k = 0; k < cells; ++k) {
      u_[k] = 0.5 * std::sin(0.3 * double(k));
      pivot_[k] = 1 + 2 * diffusion - (k > 0 ? diffusion * diffusion / pivot_[k - 1] : 0);
    }
  }
  reaction_solver(reaction_solver const&) = delete;
  reaction_solver& operator=(reaction_solver const&) = delete;

  [[nodiscard]] std::vector<double> save() const { return u_; }
  void save(std::vector<double>& into) const { into = u_; }  // optional: into the memory of an old snapshot
  void restore(std::vector<double> const& snapshot) { u_ = snapshot; }

  void advance() {
    for (auto& u : u_) u += dt * (u - u * u * u);
    solve(u_);
  }
  /// The matrix of the diffusion is symmetric, so its adjoint is the same solve.
  void reverse(std::vector<double>& bar) const {
    solve(bar);
    for (std::size_t k = 0; k < bar.size(); ++k) bar[k] *= 1 + dt * (1 - 3 * u_[k] * u_[k]);
  }

 private:
  /// Solves the tridiagonal system with the pivots found once (Thomas's algorithm).
  void solve(std::vector<double>& v) const {
    for (std::size_t k = 1; k < v.size(); ++k) v[k] += diffusion / pivot_[k - 1] * v[k - 1];
    for (std::size_t k = v.size(); k-- > 0;) v[k] = (v[k] + (k + 1 < v.size() ? diffusion * v[k + 1] : 0)) / pivot_[k];
  }

  static constexpr double dt = 0.01, diffusion = 0.4;
  std::vector<double> u_, pivot_;
};

int main() {
  cairn::step_index const n = 1'000;
  std::size_t const cells = 50;
  auto const seed = [](reaction_solver const& solver) { return solver.save(); };  // the derivative of |u_n|^2 / 2

  reaction_solver solver{cells};
  auto const bar = cairn::gradient([](reaction_solver& x) { x.advance(); }, solver, cairn::revolve{n, 8}, seed,
                                   [](reaction_solver const& x, std::vector<double>& x_bar) { x.reverse(x_bar); });
  std::printf("d/d first cell %.12g, d/d last cell %.12g\n", bar.front(), bar.back());

  // The same with a snapshot of every state.
  reaction_solver plain{cells};
  std::vector<std::vector<double>> all;
  for (cairn::step_index i = 0; i < n; ++i) {
    all.push_back(plain.save());
    plain.advance();
  }
  auto want = seed(plain);
  for (auto i = n; i-- > 0;) {
    plain.restore(all[std::size_t(i)]);
    plain.reverse(want);
  }

  // The check varies copies of the state: here those are the snapshots, and one solver runs the steps of all of them.
  reaction_solver checked{cells};
  auto const first = checked.save();
  auto const report = cairn::check_adjoint(
      [&](std::vector<double>& u) {
        checked.restore(u);
        checked.advance();
        u = checked.save();
      },
      [&](std::vector<double> const& u, std::vector<double>& x_bar) {
        checked.restore(u);
        checked.reverse(x_bar);
      },
      first, n);
  std::printf("%s\n", report.text().c_str());

  bool good = report.passed();
  for (std::size_t k = 0; k < cells; ++k) good = good && std::abs(bar[k] - want[k]) <= 1e-12 * std::abs(want[k]);
  return good ? 0 : 1;
}
