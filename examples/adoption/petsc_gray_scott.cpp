// SPDX-License-Identifier: Apache-2.0
// The reaction and diffusion of Gray and Scott in two dimensions, on one rank or on many, with the implicit steps of
// PETSc (Crank and Nicolson). Its gradient by the initial state is that of PETSc's own adjoint over a stored
// trajectory, bit for bit. Every rank runs the same plan, so that all take part in every step; a checkpoint is the part
// of the state that a rank owns.
//   mpirun -n 2 petsc_gray_scott
//   petsc_gray_scott -cells 128 -steps 200

#include <cmath>
#include <utility>
#include <vector>

#include <petscdmda.h>

#include <cairn/cairn.hpp>

#include "petsc_solver.hpp"
#include "usage.hpp"

namespace {

PetscInt n = 40, cells = 32;
constexpr PetscReal length = 2.5, diffusion_u = 8e-5, diffusion_v = 4e-5, feed = 0.024, kill = 0.06;

struct species {
  PetscScalar u, v;
};

PetscErrorCode right_side(TS ts, PetscReal, Vec whole, Vec f, void*) {
  DM grid = nullptr;
  Vec part = nullptr;
  species **x = nullptr, **y = nullptr;
  PetscInt left = 0, top = 0, width = 0, height = 0;
  check(TSGetDM(ts, &grid));
  check(DMGetLocalVector(grid, &part));
  check(DMGlobalToLocal(grid, whole, INSERT_VALUES, part));
  check(DMDAVecGetArrayRead(grid, part, &x));
  check(DMDAVecGetArray(grid, f, &y));
  check(DMDAGetCorners(grid, &left, &top, nullptr, &width, &height, nullptr));
  auto const per_cell = (PetscReal(cells) / length) * (PetscReal(cells) / length);
  for (PetscInt j = top; j < top + height; ++j)
    for (PetscInt i = left; i < left + width; ++i) {
      auto const [u, v] = x[j][i];
      auto const spread = [&](PetscScalar species::*s) {
        return (x[j][i - 1].*s + x[j][i + 1].*s + x[j - 1][i].*s + x[j + 1][i].*s - 4 * x[j][i].*s) * per_cell;
      };
      y[j][i].u = diffusion_u * spread(&species::u) - u * v * v + feed * (1 - u);
      y[j][i].v = diffusion_v * spread(&species::v) + u * v * v - (feed + kill) * v;
    }
  check(DMDAVecRestoreArray(grid, f, &y));
  check(DMDAVecRestoreArrayRead(grid, part, &x));
  check(DMRestoreLocalVector(grid, &part));
  return 0;
}

PetscErrorCode by_state(TS ts, PetscReal, Vec whole, Mat jacobian, Mat, void*) {
  DM grid = nullptr;
  species** x = nullptr;
  PetscInt left = 0, top = 0, width = 0, height = 0;
  check(TSGetDM(ts, &grid));
  check(DMDAVecGetArrayRead(grid, whole, &x));
  check(DMDAGetCorners(grid, &left, &top, nullptr, &width, &height, nullptr));
  auto const per_cell = (PetscReal(cells) / length) * (PetscReal(cells) / length);
  auto const at = [](PetscInt i, PetscInt j, PetscInt c) {
    MatStencil place{};
    place.i = i, place.j = j, place.c = c;
    return place;
  };
  for (PetscInt j = top; j < top + height; ++j)
    for (PetscInt i = left; i < left + width; ++i) {
      auto const [u, v] = x[j][i];
      auto const set_row = [&](PetscInt c, PetscReal diffusion, PetscScalar by_u, PetscScalar by_v) {
        auto const spread = diffusion * per_cell;
        (c == 0 ? by_u : by_v) -= 4 * spread;
        MatStencil const row = at(i, j, c);
        MatStencil const columns[] = {at(i, j, 0),     at(i, j, 1),     at(i - 1, j, c),
                                      at(i + 1, j, c), at(i, j - 1, c), at(i, j + 1, c)};
        PetscScalar const values[] = {by_u, by_v, spread, spread, spread, spread};
        check(MatSetValuesStencil(jacobian, 1, &row, 6, columns, values, INSERT_VALUES));
      };
      set_row(0, diffusion_u, -v * v - feed, -2 * u * v);
      set_row(1, diffusion_v, v * v, 2 * u * v - feed - kill);
    }
  check(DMDAVecRestoreArrayRead(grid, whole, &x));
  check(MatAssemblyBegin(jacobian, MAT_FINAL_ASSEMBLY));
  check(MatAssemblyEnd(jacobian, MAT_FINAL_ASSEMBLY));
  return 0;
}

/// The program as it is without checkpoints.
struct gray_scott {
  DM grid = nullptr;
  TS ts = nullptr;
  Vec u = nullptr, lambda = nullptr;

  gray_scott() {
    check(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, cells, cells,
                       PETSC_DECIDE, PETSC_DECIDE, 2, 1, nullptr, nullptr, &grid));
    check(DMSetUp(grid));
    check(DMCreateGlobalVector(grid, &u));
    check(VecDuplicate(u, &lambda));
    set_initial_state();
    check(TSCreate(PETSC_COMM_WORLD, &ts));
    check(TSSetDM(ts, grid));
    check(TSSetType(ts, TSCN));
    check(TSSetRHSFunction(ts, nullptr, right_side, nullptr));
    check(TSSetRHSJacobian(ts, nullptr, nullptr, by_state, nullptr));
    check(TSSetTimeStep(ts, 1.0));
    check(TSSetMaxSteps(ts, n));
    check(TSSetMaxTime(ts, 1e9));
    check(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_STEPOVER));
    check(TSSetSolution(ts, u));
    check(TSSetCostGradients(ts, 1, &lambda, nullptr));
    set_trajectory_in_memory(ts);
    check(TSSetFromOptions(ts));
    check(TSSetUp(ts));
  }
  ~gray_scott() {
    TSDestroy(&ts);
    VecDestroy(&lambda);
    VecDestroy(&u);
    DMDestroy(&grid);
  }
  gray_scott(gray_scott const&) = delete;
  gray_scott& operator=(gray_scott const&) = delete;

  /// The derivative of the sum of squares, halved, at the end.
  void seed() const { check(VecCopy(u, lambda)); }
  [[nodiscard]] std::vector<double> gradient() const {
    std::vector<double> found;
    append_values(lambda, found);
    return found;
  }

 private:
  void set_initial_state() const {
    species** x = nullptr;
    PetscInt left = 0, top = 0, width = 0, height = 0;
    check(DMDAVecGetArray(grid, u, &x));
    check(DMDAGetCorners(grid, &left, &top, nullptr, &width, &height, nullptr));
    for (PetscInt j = top; j < top + height; ++j)
      for (PetscInt i = left; i < left + width; ++i) {
        auto const wave = [](PetscInt k) {
          auto const place = length * PetscReal(k) / PetscReal(cells);
          return place < 1 || place > 1.5 ? 0 : std::pow(std::sin(4 * PETSC_PI * place), 2);
        };
        auto const v = 0.25 * wave(i) * wave(j);
        x[j][i] = {1 - 2 * v, v};
      }
    check(DMDAVecRestoreArray(grid, u, &x));
  }
};

std::vector<double> by_petsc() {
  gray_scott g;
  check(TSSolve(g.ts, g.u));
  g.seed();
  check(TSAdjointSolve(g.ts));
  return g.gradient();
}

std::vector<double> by_cairn(cairn::step_index slots) {
  gray_scott g;
  petsc_solver solver{g.ts};
  cairn::gradient([](petsc_solver& s) { s.advance(); }, solver, cairn::revolve{n, slots},
                  [&](petsc_solver const&) { g.seed(); }, [](petsc_solver& s) { s.reverse(); });
  return g.gradient();
}

}  // namespace

int main(int argc, char** argv) {
  check(PetscInitialize(&argc, &argv, nullptr, nullptr));
  check(PetscOptionsGetInt(nullptr, nullptr, "-cells", &cells, nullptr));
  check(PetscOptionsGetInt(nullptr, nullptr, "-steps", &n, nullptr));
  int ranks = 0;
  MPI_Comm_size(PETSC_COMM_WORLD, &ranks);
  check(PetscPrintf(PETSC_COMM_WORLD, "%d x %d cells, %d steps, %d ranks; user CPU and resident memory of rank 0\n",
                    int(cells), int(cells), int(n), ranks));
  std::vector<std::vector<double>> found;
  auto const row = [&](char const* what, cairn::step_index slots, auto const& work) {
    auto [gradient, took] = measured(work);
    check(PetscPrintf(PETSC_COMM_WORLD, "%-22s %4d states: %6.2f s, %6.1f MB more\n", what, int(slots), took.seconds,
                      took.megabytes));
    found.push_back(std::move(gradient));
  };
  auto const all = cairn::step_index(n);
  for (cairn::step_index const slots : {cairn::step_index{2}, cairn::step_index{5}, all})
    row("cairn", slots, [&] { return by_cairn(slots); });
  row("PETSc's trajectory", all, by_petsc);
  int here = 1, everywhere = 0;
  for (auto const& gradient : found) here = here && gradient == found.back();
  MPI_Allreduce(&here, &everywhere, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD);
  check(PetscPrintf(PETSC_COMM_WORLD, "%s\n", everywhere == 1 ? "all have the same bits" : "the gradients differ"));
  check(PetscFinalize());
  return everywhere == 1 ? 0 : 1;
}
