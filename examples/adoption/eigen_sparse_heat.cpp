// SPDX-License-Identifier: Apache-2.0
// Heat in a plate, by implicit steps with a sparse factorisation of Eigen: how warm does the plate's middle get, and
// how does that change with the conductivity of every cell and with the temperature that it starts from? The loop that
// stores every state comes first, the loop with checkpoints is the same step and the same adjoint.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include <Eigen/Sparse>
#include <Eigen/SparseCholesky>

#include <cairn/adapt/eigen.hpp>
#include <cairn/cairn.hpp>
#include <cairn/run/check/check_gradient.hpp>

namespace {

using Eigen::VectorXd;
constexpr Eigen::Index side = 24, cells = side * side;
constexpr cairn::step_index n = 200;
constexpr double dt = 0.2;

/// Two cells side by side exchange heat by the mean of their conductivities.
struct contact {
  Eigen::Index a, b;
};

class plate {
 public:
  explicit plate(VectorXd const& conductivity) {
    for (Eigen::Index k = 0; k < cells; ++k) {
      if ((k + 1) % side != 0) contacts_.push_back({k, k + 1});
      if (k + side < cells) contacts_.push_back({k, k + side});
    }
    std::vector<Eigen::Triplet<double>> entries;
    for (Eigen::Index k = 0; k < cells; ++k) entries.emplace_back(k, k, 1 + dt * loss);
    for (auto const [a, b] : contacts_) {
      auto const exchange = dt * (conductivity[a] + conductivity[b]) / 2;
      entries.emplace_back(a, a, exchange);
      entries.emplace_back(b, b, exchange);
      entries.emplace_back(a, b, -exchange);
      entries.emplace_back(b, a, -exchange);
    }
    Eigen::SparseMatrix<double> matrix(cells, cells);
    matrix.setFromTriplets(entries.begin(), entries.end());
    solver_.compute(matrix);
  }

  /// A corner of the plate is heated for half of the time.
  void step(VectorXd& x, cairn::step_index i) const {
    VectorXd right = x;
    if (i < n / 2) right[0] += dt * heating;
    x = solver_.solve(right);
  }
  /// The matrix is symmetric, so the adjoint of the step is the same solve.
  void adjoint(VectorXd const& x1, VectorXd& bar, VectorXd& conductivity_bar) const {
    bar = solver_.solve(bar).eval();
    for (auto const [a, b] : contacts_) {
      auto const change = -dt / 2 * (x1[a] - x1[b]) * (bar[a] - bar[b]);
      conductivity_bar[a] += change;
      conductivity_bar[b] += change;
    }
  }

 private:
  static constexpr double loss = 0.002, heating = 40;
  std::vector<contact> contacts_;
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> solver_;
};

/// The derivative of the temperature in the middle, by the final state.
VectorXd seed() { return VectorXd::Unit(cells, cells / 2 + side / 2); }

struct gradients {
  VectorXd by_start, by_conductivity = VectorXd::Zero(cells);
  bool operator==(gradients const& o) const {
    return by_start == o.by_start && by_conductivity == o.by_conductivity;
  }
};

/// As the program has it: every state is stored.
gradients by_storing(plate const& p, VectorXd const& x0) {
  std::vector<VectorXd> x{x0};
  for (cairn::step_index i = 0; i < n; ++i) {
    x.push_back(x.back());
    p.step(x.back(), i);
  }
  gradients g{seed()};
  for (auto i = n; i-- > 0;) p.adjoint(x[std::size_t(i) + 1], g.by_start, g.by_conductivity);
  return g;
}

gradients by_cairn(plate const& p, VectorXd const& x0, cairn::step_index slots) {
  gradients g;
  auto const step = [&](VectorXd& x, cairn::step_index i) { p.step(x, i); };
  auto const adjoint = [&](VectorXd const&, VectorXd const& x1, VectorXd& bar, cairn::step_index) {
    p.adjoint(x1, bar, g.by_conductivity);
  };
  g.by_start = cairn::gradient(step, x0, cairn::revolve{n, slots}, seed(), adjoint);
  return g;
}

}  // namespace

int main() {
  VectorXd const x0 = VectorXd::Zero(cells);
  VectorXd conductivity(cells);
  for (Eigen::Index k = 0; k < cells; ++k) conductivity[k] = 1 + 0.5 * std::sin(0.7 * double(k));
  plate const p{conductivity};

  auto const stored = by_storing(p, x0);
  bool good = true;
  for (cairn::step_index const slots : {1, 8, 200}) {
    bool const same = by_cairn(p, x0, slots) == stored;
    std::printf("%3d checkpoints for %d steps: %s\n", int(slots), int(n),
                same ? "the bits of storing every state" : "another gradient");
    good = good && same;
  }
  auto const middle = [&](VectorXd const& c) {
    plate const other{c};
    VectorXd x = x0;
    for (cairn::step_index i = 0; i < n; ++i) other.step(x, i);
    return x.dot(seed());
  };
  auto const report = cairn::check_gradient(middle, conductivity, stored.by_conductivity);
  std::printf("%s\n", report.text().c_str());
  return good && report.passed() ? 0 : 1;
}
