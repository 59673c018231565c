// SPDX-License-Identifier: Apache-2.0
// Advection and diffusion on a line, integrated by CVODES of SUNDIALS, which chooses its steps by itself. A step of the
// loop is a window between two times of output; CVODES's own adjoint goes back through one window at a time, so that
// it keeps the steps of one window and not of the whole run. The gradient by the initial state and by both coefficients
// has the bits of CVODES without cairn, where one CVODES for each window keeps that window's steps of the forward run.
// It is that of one adjoint of CVODES over all time to its tolerance: that one does not start anew at a time of output,
// and so takes other steps.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <cvodes/cvodes.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunmatrix/sunmatrix_band.h>

#include <cairn/cairn.hpp>

#include "usage.hpp"

namespace {

constexpr cairn::step_index windows = 60;
constexpr sunindextype cells = 100;
constexpr double width = 2.0 / double(cells + 1), window = 0.01, tolerance = 1e-9;

/// u_t = d u_xx - a u_x, zero beyond both ends.
struct coefficients {
  double d = 0.1, a = 0.6;
};

void check(int code, char const* call) {
  if (code < 0) throw std::runtime_error{std::string{call} + ": " + CVodeGetReturnFlagName(code)};
}

double at(double const* u, sunindextype k) { return k < 0 || k >= cells ? 0 : u[k]; }

int right_side(double, N_Vector u, N_Vector f, void* given) {
  auto const [d, a] = *static_cast<coefficients const*>(given);
  auto const* const x = N_VGetArrayPointer(u);
  auto* const y = N_VGetArrayPointer(f);
  for (sunindextype k = 0; k < cells; ++k)
    y[k] = d / (width * width) * (at(x, k - 1) - 2 * x[k] + at(x, k + 1)) -
           a / (2 * width) * (at(x, k + 1) - at(x, k - 1));
  return 0;
}

int jacobian(double, N_Vector, N_Vector, SUNMatrix matrix, void* given, N_Vector, N_Vector, N_Vector) {
  auto const [d, a] = *static_cast<coefficients const*>(given);
  auto const spread = d / (width * width), drift = a / (2 * width);
  for (sunindextype k = 0; k < cells; ++k) {
    SM_ELEMENT_B(matrix, k, k) = -2 * spread;
    if (k > 0) SM_ELEMENT_B(matrix, k, k - 1) = spread + drift;
    if (k + 1 < cells) SM_ELEMENT_B(matrix, k, k + 1) = spread - drift;
  }
  return 0;
}

/// lambda' = -J^T lambda. J^T is J with a negated.
int adjoint_side(double, N_Vector, N_Vector lambda, N_Vector f, void* given) {
  auto const [d, a] = *static_cast<coefficients const*>(given);
  auto const* const x = N_VGetArrayPointer(lambda);
  auto* const y = N_VGetArrayPointer(f);
  for (sunindextype k = 0; k < cells; ++k)
    y[k] = -d / (width * width) * (at(x, k - 1) - 2 * x[k] + at(x, k + 1)) -
           a / (2 * width) * (at(x, k + 1) - at(x, k - 1));
  return 0;
}
int adjoint_jacobian(double, N_Vector, N_Vector, N_Vector, SUNMatrix matrix, void* given, N_Vector, N_Vector,
                     N_Vector) {
  auto const [d, a] = *static_cast<coefficients const*>(given);
  auto const spread = d / (width * width), drift = a / (2 * width);
  for (sunindextype k = 0; k < cells; ++k) {
    SM_ELEMENT_B(matrix, k, k) = 2 * spread;
    if (k > 0) SM_ELEMENT_B(matrix, k, k - 1) = -spread + drift;
    if (k + 1 < cells) SM_ELEMENT_B(matrix, k, k + 1) = -spread - drift;
  }
  return 0;
}
/// What lambda adds to the gradient with respect to d and a.
int by_coefficients(double, N_Vector u, N_Vector lambda, N_Vector q, void*) {
  auto const* const x = N_VGetArrayPointer(u);
  auto const* const l = N_VGetArrayPointer(lambda);
  double by_d = 0, by_a = 0;
  for (sunindextype k = 0; k < cells; ++k) {
    by_d += l[k] * (at(x, k - 1) - 2 * x[k] + at(x, k + 1)) / (width * width);
    by_a -= l[k] * (at(x, k + 1) - at(x, k - 1)) / (2 * width);
  }
  N_VGetArrayPointer(q)[0] = -by_d;
  N_VGetArrayPointer(q)[1] = -by_a;
  return 0;
}

/// The integrator as the program has it without checkpoints: a window forward, a window forward and back.
class integrator {
 public:
  integrator() {
    check(SUNContext_Create(nullptr, &context_), "SUNContext_Create");
    u_ = N_VNew_Serial(cells, context_);
    lambda_ = N_VClone(u_);
    by_coefficients_ = N_VNew_Serial(2, context_);
    matrix_ = SUNBandMatrix(cells, 1, 1, context_);
    linear_ = SUNLinSol_Band(u_, matrix_, context_);
    adjoint_matrix_ = SUNBandMatrix(cells, 1, 1, context_);
    adjoint_linear_ = SUNLinSol_Band(lambda_, adjoint_matrix_, context_);
    for (sunindextype k = 0; k < cells; ++k) {
      auto const x = double(k + 1) * width;
      N_VGetArrayPointer(u_)[k] = x * (2 - x) * std::exp(2 * x);
    }
    cvode_ = CVodeCreate(CV_BDF, context_);
    check(CVodeInit(cvode_, right_side, 0, u_), "CVodeInit");
    check(CVodeSStolerances(cvode_, tolerance, tolerance), "CVodeSStolerances");
    check(CVodeSetUserData(cvode_, &coefficients_), "CVodeSetUserData");
    check(CVodeSetLinearSolver(cvode_, linear_, matrix_), "CVodeSetLinearSolver");
    check(CVodeSetJacFn(cvode_, jacobian), "CVodeSetJacFn");
    check(CVodeSetMaxNumSteps(cvode_, 100'000), "CVodeSetMaxNumSteps");
    check(CVodeAdjInit(cvode_, 100, CV_POLYNOMIAL), "CVodeAdjInit");
  }
  ~integrator() {
    CVodeFree(&cvode_);
    SUNLinSolFree(adjoint_linear_);
    SUNMatDestroy(adjoint_matrix_);
    SUNLinSolFree(linear_);
    SUNMatDestroy(matrix_);
    for (auto const v : {by_coefficients_, lambda_, u_}) N_VDestroy(v);
    SUNContext_Free(&context_);
  }
  integrator(integrator const&) = delete;
  integrator& operator=(integrator const&) = delete;

  void advance(double from, double to) {
    check(CVodeReInit(cvode_, from, u_), "CVodeReInit");
    check(CVodeSetStopTime(cvode_, to), "CVodeSetStopTime");
    check(CVode(cvode_, to, u_, &time_, CV_NORMAL), "CVode");
  }
  void advance_and_keep(double from, double to) {
    int kept = 0;
    check(CVodeAdjReInit(cvode_), "CVodeAdjReInit");
    check(CVodeReInit(cvode_, from, u_), "CVodeReInit");
    check(CVodeSetStopTime(cvode_, to), "CVodeSetStopTime");
    check(CVodeF(cvode_, to, u_, &time_, CV_NORMAL, &kept), "CVodeF");
  }
  /// Goes back over what was kept last.
  void reverse(double from, double to) {
    if (adjoint_ < 0) {
      check(CVodeCreateB(cvode_, CV_BDF, &adjoint_), "CVodeCreateB");
      check(CVodeInitB(cvode_, adjoint_, adjoint_side, from, lambda_), "CVodeInitB");
      check(CVodeSStolerancesB(cvode_, adjoint_, tolerance, tolerance), "CVodeSStolerancesB");
      check(CVodeSetUserDataB(cvode_, adjoint_, &coefficients_), "CVodeSetUserDataB");
      check(CVodeSetLinearSolverB(cvode_, adjoint_, adjoint_linear_, adjoint_matrix_), "CVodeSetLinearSolverB");
      check(CVodeSetJacFnB(cvode_, adjoint_, adjoint_jacobian), "CVodeSetJacFnB");
      check(CVodeSetMaxNumStepsB(cvode_, adjoint_, 100'000), "CVodeSetMaxNumStepsB");
      check(CVodeQuadInitB(cvode_, adjoint_, by_coefficients, by_coefficients_), "CVodeQuadInitB");
      check(CVodeQuadSStolerancesB(cvode_, adjoint_, tolerance, tolerance), "CVodeQuadSStolerancesB");
      check(CVodeSetQuadErrConB(cvode_, adjoint_, SUNTRUE), "CVodeSetQuadErrConB");
    } else {
      check(CVodeReInitB(cvode_, adjoint_, from, lambda_), "CVodeReInitB");
      check(CVodeQuadReInitB(cvode_, adjoint_, by_coefficients_), "CVodeQuadReInitB");
    }
    check(CVodeB(cvode_, to, CV_NORMAL), "CVodeB");
    check(CVodeGetB(cvode_, adjoint_, &time_, lambda_), "CVodeGetB");
    check(CVodeGetQuadB(cvode_, adjoint_, &time_, by_coefficients_), "CVodeGetQuadB");
  }
  /// The derivative of the integral of u at the end.
  void seed() const {
    N_VConst(width, lambda_);
    N_VConst(0, by_coefficients_);
  }
  /// Goes on from where the adjoint of the next window has ended.
  void take_adjoint(integrator const& next) const {
    N_VScale(1, next.lambda_, lambda_);
    N_VScale(1, next.by_coefficients_, by_coefficients_);
  }
  [[nodiscard]] std::vector<double> gradient() const {
    std::vector<double> found(N_VGetArrayPointer(lambda_), N_VGetArrayPointer(lambda_) + cells);
    found.insert(found.end(), N_VGetArrayPointer(by_coefficients_), N_VGetArrayPointer(by_coefficients_) + 2);
    return found;
  }

  /// What a window starts from: only u, because every window restarts the integrator.
  void save(std::vector<double>& old) const { old.assign(N_VGetArrayPointer(u_), N_VGetArrayPointer(u_) + cells); }
  [[nodiscard]] std::vector<double> save() const {
    std::vector<double> made;
    save(made);
    return made;
  }
  void restore(std::vector<double> const& from) { std::ranges::copy(from, N_VGetArrayPointer(u_)); }

 private:
  coefficients coefficients_;
  SUNContext context_ = nullptr;
  N_Vector u_ = nullptr, lambda_ = nullptr, by_coefficients_ = nullptr;
  SUNMatrix matrix_ = nullptr, adjoint_matrix_ = nullptr;
  SUNLinearSolver linear_ = nullptr, adjoint_linear_ = nullptr;
  void* cvode_ = nullptr;
  double time_ = 0;
  int adjoint_ = -1;
};

double time_of(cairn::step_index i) { return window * double(i); }

std::vector<double> by_cairn(cairn::step_index slots) {
  integrator solver;
  cairn::gradient([](integrator& s, cairn::step_index i) { s.advance(time_of(i), time_of(i + 1)); }, solver,
                  cairn::revolve{windows, slots}, [](integrator const& s) { s.seed(); },
                  [](integrator& s, cairn::step_index i) {
                    s.advance_and_keep(time_of(i), time_of(i + 1));
                    s.reverse(time_of(i + 1), time_of(i));
                  });
  return solver.gradient();
}

/// The state of every window is kept.
std::vector<double> by_hand() {
  integrator solver;
  std::vector<std::vector<double>> states;
  for (cairn::step_index i = 0; i < windows; ++i) {
    states.push_back(solver.save());
    solver.advance(time_of(i), time_of(i + 1));
  }
  solver.seed();
  for (auto i = windows; i-- > 0;) {
    solver.restore(states[std::size_t(i)]);
    solver.advance_and_keep(time_of(i), time_of(i + 1));
    solver.reverse(time_of(i + 1), time_of(i));
  }
  return solver.gradient();
}

/// Without running anything again: each window has a CVODES of its own, which keeps the steps of the forward run.
std::vector<double> by_stored_steps() {
  std::vector<std::unique_ptr<integrator>> of_window;
  for (cairn::step_index i = 0; i < windows; ++i) {
    auto& next = *of_window.emplace_back(std::make_unique<integrator>());
    if (i > 0) next.restore(of_window[std::size_t(i - 1)]->save());
    next.advance_and_keep(time_of(i), time_of(i + 1));
  }
  of_window.back()->seed();
  for (auto i = windows; i-- > 0;) {
    auto& solver = *of_window[std::size_t(i)];
    if (i + 1 < windows) solver.take_adjoint(*of_window[std::size_t(i + 1)]);
    solver.reverse(time_of(i + 1), time_of(i));
  }
  return of_window.front()->gradient();
}

/// One forward and one backward run over all time, with CVODES's own checkpoints.
std::vector<double> by_cvodes() {
  integrator solver;
  solver.advance_and_keep(0, time_of(windows));
  solver.seed();
  solver.reverse(time_of(windows), 0);
  return solver.gradient();
}

double largest_difference(std::vector<double> const& a, std::vector<double> const& b) {
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    worst = std::max(worst, std::abs(a[k] - b[k]) / std::max(1.0, std::abs(b[k])));
  return worst;
}

}  // namespace

int main() {
  std::vector<std::vector<double>> found;
  auto const row = [&](char const* what, auto const& work) {
    auto [gradient, took] = measured(work);
    std::printf("%-34s by d %.12g, by a %.12g: %.2f s, %.1f MB\n", what, gradient[cells], gradient[cells + 1],
                took.seconds, took.megabytes);
    found.push_back(std::move(gradient));
  };
  row("1 checkpoint", [] { return by_cairn(1); });
  row("4 checkpoints", [] { return by_cairn(4); });
  row("60 checkpoints", [] { return by_cairn(windows); });
  row("every window's state kept by hand", by_hand);
  row("CVODES over all time", by_cvodes);
  row("CVODES alone, all steps stored", by_stored_steps);
  bool same = true;
  for (std::size_t k = 0; k < 4; ++k) same = same && found[k] == found[5];
  auto const apart = largest_difference(found[5], found[4]);
  std::printf("same bits for every number of checkpoints as by CVODES alone: %s; from CVODES over all time: %.2g\n",
              same ? "yes" : "no", apart);
  return same && apart < 1e-6 ? 0 : 1;
}
