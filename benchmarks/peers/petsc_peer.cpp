// SPDX-License-Identifier: Apache-2.0
// Fisher's equation as a time stepper of PETSc: METHOD is store_all or two_levels:CHECKPOINTS, PETSc's own trajectory,
// or cairn:CHECKPOINTS, cairn's checkpoints over the same stepper. PETSc without Revolve, as Debian builds it, keeps
// the states of one stretch of steps in memory and the first state of each stretch in a file.
#include <petscts.h>
#include "../../examples/adoption/petsc_solver.hpp"
#include "fisher.hpp"

namespace {

/// The right side and its Jacobian, which is no matrix but two products, at the state that was seen last.
struct right_side {
  peer::fisher size;
  std::vector<double> u;

  static PetscErrorCode value(TS, PetscReal, Vec state, Vec slope, void* self) {
    auto const& here = *static_cast<right_side*>(self);
    PetscScalar const* x = nullptr;
    PetscScalar* y = nullptr;
    check(VecGetArrayRead(state, &x));
    check(VecGetArrayWrite(slope, &y));
    peer::react(x, y, here.size.side);  // the next state
    for (std::size_t k = 0; k < here.size.cells(); ++k) y[k] -= x[k];
    check(VecRestoreArrayWrite(slope, &y));
    check(VecRestoreArrayRead(state, &x));
    return 0;
  }
  static PetscErrorCode remember(TS, PetscReal, Vec state, Mat, Mat, void* self) {
    PetscScalar const* x = nullptr;
    auto& here = *static_cast<right_side*>(self);
    check(VecGetArrayRead(state, &x));
    here.u.assign(x, x + here.size.cells());
    check(VecRestoreArrayRead(state, &x));
    return 0;
  }
  static PetscErrorCode transposed(Mat matrix, Vec bar, Vec product) {
    right_side const* here = nullptr;
    check(MatShellGetContext(matrix, &here));
    PetscScalar const* x = nullptr;
    PetscScalar* y = nullptr;
    check(VecGetArrayRead(bar, &x));
    check(VecGetArrayWrite(product, &y));
    peer::react_back(here->u.data(), x, y, here->size.side);
    for (std::size_t k = 0; k < here->size.cells(); ++k) y[k] -= x[k];
    check(VecRestoreArrayWrite(product, &y));
    check(VecRestoreArrayRead(bar, &x));
    return 0;
  }
};

/// The program as it is without checkpoints.
struct stepper {
  right_side side;
  TS ts = nullptr;
  Vec u = nullptr, lambda = nullptr;
  Mat jacobian = nullptr;

  explicit stepper(peer::fisher const& given) : side{given, {}} {
    auto const cells = PetscInt(given.cells());
    check(VecCreateSeq(PETSC_COMM_SELF, cells, &u));
    check(VecDuplicate(u, &lambda));
    PetscScalar* values = nullptr;
    check(VecGetArrayWrite(u, &values));
    std::ranges::copy(given.start(), values);
    check(VecRestoreArrayWrite(u, &values));
    check(MatCreateShell(PETSC_COMM_SELF, cells, cells, cells, cells, &side, &jacobian));
    check(MatShellSetOperation(jacobian, MATOP_MULT_TRANSPOSE, reinterpret_cast<void (*)()>(&right_side::transposed)));
    check(TSCreate(PETSC_COMM_SELF, &ts));
    check(TSSetType(ts, TSRK));
    check(TSRKSetType(ts, TSRK1FE));
    check(TSSetRHSFunction(ts, nullptr, right_side::value, &side));
    check(TSSetRHSJacobian(ts, jacobian, jacobian, right_side::remember, &side));
    check(TSSetTimeStep(ts, 1));
    check(TSSetMaxSteps(ts, PetscInt(given.steps)));
    check(TSSetMaxTime(ts, 1e9));
    check(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
    TSAdapt adapt = nullptr;
    check(TSGetAdapt(ts, &adapt));
    check(TSAdaptSetType(adapt, TSADAPTNONE));
    check(TSSetSolution(ts, u));
    check(TSSetCostGradients(ts, 1, &lambda, nullptr));
    set_trajectory_in_memory(ts);
    check(TSSetFromOptions(ts));
    check(TSSetUp(ts));
  }
  ~stepper() {
    TSDestroy(&ts);
    MatDestroy(&jacobian);
    VecDestroy(&lambda);
    VecDestroy(&u);
  }
  stepper(stepper const&) = delete;
  stepper& operator=(stepper const&) = delete;

  void seed() const {
    check(VecCopy(u, lambda));
    check(VecScale(lambda, 2));
  }
  [[nodiscard]] std::vector<double> gradient() const {
    std::vector<double> found;
    append_values(lambda, found);
    return found;
  }
};

std::vector<double> by_petsc(peer::fisher const& given) {
  stepper s{given};
  check(TSSolve(s.ts, s.u));
  s.seed();
  check(TSAdjointSolve(s.ts));
  return s.gradient();
}

std::vector<double> by_cairn(peer::fisher const& given, cairn::slot_index checkpoints) {
  stepper s{given};
  petsc_solver solver{s.ts};
  cairn::gradient([](petsc_solver& one) { one.advance(); }, solver, cairn::revolve{given.steps, checkpoints},
                  [&](petsc_solver const&) { s.seed(); }, [](petsc_solver& one) { one.reverse(); });
  return s.gradient();
}

/// Stretches as long as the memory allows of which a whole number makes the loop.
void set_stretches(cairn::step_index steps, cairn::slot_index checkpoints, std::string const& file) {
  cairn::step_index stretch = checkpoints;
  while (steps % stretch != 0) --stretch;
  check(PetscOptionsSetValue(nullptr, "-ts_trajectory_stride", std::to_string(stretch).c_str()));
  check(PetscOptionsSetValue(nullptr, "-ts_trajectory_save_stack", "0"));
  check(PetscOptionsSetValue(nullptr, "-ts_trajectory_solution_only", "1"));  // else two vectors a step
  check(PetscOptionsSetValue(nullptr, "-ts_trajectory_dirname", (file + ".states").c_str()));
}

}  // namespace

int main(int argc, char** argv) {
  std::string const name = argc > 1 ? argv[1] : "";
  auto const given = peer::fisher_of(argc > 3 ? argv[3] : "fisher");
  check(PetscInitializeNoArguments());
  auto const checkpoints = peer::checkpoints_of(name);
  std::vector<peer::method_of<double>> methods{{"store_all", 0, [=] { return by_petsc(given); }}};
  if (checkpoints > 0) {
    methods.push_back({peer::with_checkpoints("two_levels", checkpoints), 0, [=] { return by_petsc(given); }});
    methods.push_back({peer::with_checkpoints("cairn", checkpoints), 0, [=] { return by_cairn(given, checkpoints); }});
    if (argc > 2 && name.starts_with("two_levels")) set_stretches(given.steps, checkpoints, argv[2]);
  }
  peer::facts about;
  about.version.append(", PETSc ").append(std::to_string(PETSC_VERSION_MAJOR));
  about.version.append(1, '.').append(std::to_string(PETSC_VERSION_MINOR));
  int const status = peer::serve(argc, argv, methods, about);
  check(PetscFinalize());
  return status;
}
