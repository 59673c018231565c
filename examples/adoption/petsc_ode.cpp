// SPDX-License-Identifier: Apache-2.0
// The oscillator of Van der Pol, integrated by PETSc. Its gradient by the initial state and by mu is that of PETSc's
// own adjoint over a stored trajectory, bit for bit, with ten checkpoints in place of a thousand states.

#include <cstdio>

#include <cairn/cairn.hpp>

#include "petsc_solver.hpp"

namespace {

constexpr PetscInt n = 1'000;

PetscErrorCode right_side(TS, PetscReal, Vec u, Vec f, void* parameter) {
  auto const mu = *static_cast<PetscReal const*>(parameter);
  PetscScalar const* x = nullptr;
  PetscScalar* y = nullptr;
  check(VecGetArrayRead(u, &x));
  check(VecGetArrayWrite(f, &y));
  y[0] = x[1];
  y[1] = mu * ((1 - x[0] * x[0]) * x[1] - x[0]);
  check(VecRestoreArrayRead(u, &x));
  check(VecRestoreArrayWrite(f, &y));
  return 0;
}

PetscErrorCode set_matrix(Mat matrix, PetscInt columns, PetscScalar const* values) {
  PetscInt const numbers[] = {0, 1};
  check(MatSetValues(matrix, 2, numbers, columns, numbers, values, INSERT_VALUES));
  check(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  check(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  return 0;
}

PetscErrorCode by_state(TS, PetscReal, Vec u, Mat jacobian, Mat, void* parameter) {
  auto const mu = *static_cast<PetscReal const*>(parameter);
  PetscScalar const* x = nullptr;
  check(VecGetArrayRead(u, &x));
  PetscScalar const values[] = {0, 1, -mu * (2 * x[0] * x[1] + 1), mu * (1 - x[0] * x[0])};
  check(VecRestoreArrayRead(u, &x));
  return set_matrix(jacobian, 2, values);
}

PetscErrorCode by_parameter(TS, PetscReal, Vec u, Mat jacobian, void*) {
  PetscScalar const* x = nullptr;
  check(VecGetArrayRead(u, &x));
  PetscScalar const values[] = {0, (1 - x[0] * x[0]) * x[1] - x[0]};
  check(VecRestoreArrayRead(u, &x));
  return set_matrix(jacobian, 1, values);
}

/// The program as it is without checkpoints.
struct oscillator {
  PetscReal mu = 1.5;
  TS ts = nullptr;
  Vec u = nullptr, lambda = nullptr, mu_bar = nullptr;
  Mat jacobian = nullptr, parameter_jacobian = nullptr;

  oscillator() {
    check(VecCreateSeq(PETSC_COMM_SELF, 2, &u));
    check(VecDuplicate(u, &lambda));
    check(VecCreateSeq(PETSC_COMM_SELF, 1, &mu_bar));
    check(MatCreateSeqDense(PETSC_COMM_SELF, 2, 2, nullptr, &jacobian));
    check(MatCreateSeqDense(PETSC_COMM_SELF, 2, 1, nullptr, &parameter_jacobian));
    check(TSCreate(PETSC_COMM_SELF, &ts));
    check(TSSetType(ts, TSRK));
    check(TSRKSetType(ts, TSRK4));
    check(TSSetRHSFunction(ts, nullptr, right_side, &mu));
    check(TSSetRHSJacobian(ts, jacobian, jacobian, by_state, &mu));
    check(TSSetRHSJacobianP(ts, parameter_jacobian, by_parameter, &mu));
    check(TSSetTimeStep(ts, 0.01));
    check(TSSetMaxSteps(ts, n));
    check(TSSetMaxTime(ts, 1e9));
    check(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
    TSAdapt adapt = nullptr;
    check(TSGetAdapt(ts, &adapt));
    check(TSAdaptSetType(adapt, TSADAPTNONE));
    check(VecSetValue(u, 0, 2, INSERT_VALUES));
    check(VecSetValue(u, 1, -0.6, INSERT_VALUES));
    check(VecAssemblyBegin(u));
    check(VecAssemblyEnd(u));
    check(TSSetSolution(ts, u));
    check(TSSetCostGradients(ts, 1, &lambda, &mu_bar));
    set_trajectory_in_memory(ts);
    check(TSSetUp(ts));
  }
  ~oscillator() {
    MatDestroy(&parameter_jacobian);
    MatDestroy(&jacobian);
    TSDestroy(&ts);
    VecDestroy(&mu_bar);
    VecDestroy(&lambda);
    VecDestroy(&u);
  }
  oscillator(oscillator const&) = delete;
  oscillator& operator=(oscillator const&) = delete;

  /// The derivative of |u|^2 / 2 at the end.
  void seed() const {
    check(VecCopy(u, lambda));
    check(VecSet(mu_bar, 0));
  }
  [[nodiscard]] std::vector<double> gradient() const {
    std::vector<double> found;
    append_values(lambda, found);
    append_values(mu_bar, found);
    return found;
  }
};

std::vector<double> by_petsc() {
  oscillator o;
  check(TSSolve(o.ts, o.u));
  o.seed();
  check(TSAdjointSolve(o.ts));
  return o.gradient();
}

std::vector<double> by_cairn(cairn::step_index slots) {
  oscillator o;
  petsc_solver solver{o.ts};
  cairn::gradient([](petsc_solver& s) { s.advance(); }, solver, cairn::revolve{n, slots},
                  [&](petsc_solver const&) { o.seed(); }, [](petsc_solver& s) { s.reverse(); });
  return o.gradient();
}

}  // namespace

int main(int argc, char** argv) {
  check(PetscInitialize(&argc, &argv, nullptr, nullptr));
  auto const stored = by_petsc();
  std::printf("PETSc, %d states:      %.17g %.17g, by mu %.17g\n", int(n), stored[0], stored[1], stored[2]);
  bool same = true;
  for (cairn::step_index const slots : {1, 3, 10, 1'000}) {
    auto const found = by_cairn(slots);
    std::printf("cairn, %4d checkpoints: %.17g %.17g, by mu %.17g\n", int(slots), found[0], found[1], found[2]);
    same = same && found == stored;
  }
  check(PetscFinalize());
  return same ? 0 : 1;
}
