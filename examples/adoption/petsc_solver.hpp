// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file petsc_solver.hpp  A time stepper of PETSc as the state of a loop.
#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>
#include <petscts.h>

/// PETSc returns error codes, a sweep is stopped by an exception.
inline void check(PetscErrorCode code) {
  if (code == 0) return;
  char const* text = nullptr;
  PetscErrorMessage(code, &text, nullptr);
  throw std::runtime_error{std::string{"PETSc: "} + (text == nullptr ? std::to_string(code) : text)};
}

/// Appends the numbers of a vector, of a distributed one the part of this rank.
inline void append_values(Vec v, std::vector<PetscScalar>& to) {
  PetscInt size = 0;
  PetscScalar const* values = nullptr;
  check(VecGetLocalSize(v, &size));
  check(VecGetArrayRead(v, &values));
  to.insert(to.end(), values, values + size);
  check(VecRestoreArrayRead(v, &values));
}

/// What changes from step to step; of a distributed vector the part of this rank.
struct petsc_snapshot {
  std::vector<PetscScalar> u;
  PetscReal time = 0, step_size = 0;
  PetscInt step = 0;
};

struct petsc_solver {
  TS ts;

  void save(petsc_snapshot& old) const {
    old.u.clear();
    append_values(u(), old.u);
    check(TSGetTime(ts, &old.time));
    check(TSGetTimeStep(ts, &old.step_size));
    check(TSGetStepNumber(ts, &old.step));
  }
  [[nodiscard]] petsc_snapshot save() const {
    petsc_snapshot made;
    save(made);
    return made;
  }
  void restore(petsc_snapshot const& from) {
    PetscScalar* values = nullptr;
    check(VecGetArrayWrite(u(), &values));
    std::ranges::copy(from.u, values);
    check(VecRestoreArrayWrite(u(), &values));
    check(TSSetTime(ts, from.time));
    check(TSSetTimeStep(ts, from.step_size));
    check(TSSetStepNumber(ts, from.step));
  }

  void advance() { check(TSStep(ts)); }
  /// One step and its adjoint. The adjoints by the state and by parameters are the vectors of TSSetCostGradients.
  void reverse() {
    advance();
    PetscReal before = 0, after = 0;
    check(TSGetPrevTime(ts, &before));
    check(TSGetTime(ts, &after));
    check(TSSetTimeStep(ts, before - after));  // an adjoint step goes back in time
    check(TSAdjointStep(ts));
  }

 private:
  [[nodiscard]] Vec u() const {
    Vec found = nullptr;
    check(TSGetSolution(ts, &found));
    return found;
  }
};

/// PETSc's own way: states are kept in memory by its trajectory object. Its adjoint steps want one in any case.
inline void set_trajectory_in_memory(TS ts) {
  TSTrajectory trajectory = nullptr;
  check(TSSetSaveTrajectory(ts));
  check(TSGetTrajectory(ts, &trajectory));
  check(TSTrajectorySetType(trajectory, ts, TSTRAJECTORYMEMORY));
}
