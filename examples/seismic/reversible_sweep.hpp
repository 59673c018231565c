// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file reversible_sweep.hpp  The gradient of one shot without checkpoints: the wave runs backwards. Inside, where nothing
/// damps, a leapfrog step is its own inverse; of the damping rim only the innermost line of cells is kept of each step,
/// from which the inside takes what came in. The rim itself is not made again, and the gradient there is not asked for.

#include <cstddef>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>
#include <cairn/run/with/reversible.hpp>
#include <cairn/schedule/segments.hpp>

#include "sweep.hpp"

namespace seismic {

/// The two pressures, of which the inside counts.
template <class Real>
struct inner_wave {
  std::vector<Real> before, now;
  std::size_t nx = 0, nz = 0, rim = 0;

  template <class F>
  void visit_numbers(F& f) { visit(*this, f); }
  template <class F>
  void visit_numbers(F& f) const { visit(*this, f); }

 private:
  template <class Self, class F>
  static void visit(Self& self, F& f) {
    for (auto* const field : {&self.before, &self.now})
      for (std::size_t z = self.rim; z + self.rim < self.nz; ++z)
        f(field->data() + z * self.nx + self.rim, self.nx - 2 * self.rim);
  }
};

/// Step, inverse and adjoint of one shot, as cairn takes them.
template <class Real>
class backward_shot {
 public:
  using state = inner_wave<Real>;

  backward_shot(medium<Real> const& ground, survey<Real> const& plan, std::vector<Real>& sensitivity)
      : ground_{&ground}, plan_{&plan}, leap_{ground, plan}, adjoint_{ground, plan, sensitivity, 1} {
    auto const& g = ground.grid;
    auto const first = g.rim - 1, right = g.nx - g.rim, bottom = g.nz - g.rim;
    for (std::size_t x = first; x <= right; ++x) ring_.push_back(g.at(x, first)), ring_.push_back(g.at(x, bottom));
    for (std::size_t z = g.rim; z < bottom; ++z) ring_.push_back(g.at(first, z)), ring_.push_back(g.at(right, z));
  }
  void aim(shot<Real> const& one) {
    source_ = one.source;
    leap_.aim(one);
    adjoint_.aim(one);
  }
  [[nodiscard]] state silence() const {
    auto const& g = ground_->grid;
    return {std::vector<Real>(g.cells()), std::vector<Real>(g.cells()), g.nx, g.nz, g.rim};
  }
  [[nodiscard]] double misfit() const noexcept { return adjoint_.misfit(); }

  void step(state& x, cairn::step_index i) const {
    leap_.to(x.before.data(), x.now.data(), x.before.data(), i);
    x.before.swap(x.now);
  }
  /// The older pressure on the innermost line of the rim.
  [[nodiscard]] std::vector<Real> keep(state const& x) const {
    std::vector<Real> line(ring_.size());
    for (std::size_t k = 0; k < line.size(); ++k) line[k] = x.before[ring_[k]];
    return line;
  }
  void back(state& x, std::vector<Real> const& line, cairn::step_index i) const {
    x.before.swap(x.now);
    x.before[source_] -= plan_->wavelet[std::size_t(i)];
    go_back(x.before.data(), x.now.data());
    for (std::size_t k = 0; k < line.size(); ++k) x.before[ring_[k]] = line[k];
  }
  void adjoint(state const& x, wave<Real>& bar, cairn::step_index i) { adjoint_.reverse(x.now.data(), bar, i); }
  void listen(state const& x, wave<Real>& bar, cairn::step_index i) { adjoint_.listen(x.now.data(), bar, i); }

 private:
  /// p = 2 u + m L u - w inside, where g is 1.
  [[gnu::noinline]] void go_back(Real* before, Real const* now) const {
    auto const& g = ground_->grid;
    auto const nx = g.nx;
    for (std::size_t z = g.rim; z + g.rim < g.nz; ++z) {
      Real const* const m = ground_->courant2.data() + z * nx;
      Real const* const u = now + z * nx;
      Real const *const above = u - nx, *const below = u + nx;
      Real* const p = before + z * nx;
#ifdef __clang__
#pragma clang loop vectorize(assume_safety)
#elif defined(__GNUC__)
#pragma GCC ivdep
#endif
      for (std::size_t x = g.rim; x < nx - g.rim; ++x)
        p[x] = leap_of(Real(1), m[x], laplacian((u - 1)[x], (u + 1)[x], above[x], below[x], u[x]), u[x], p[x]);
    }
  }
  medium<Real> const* ground_;
  survey<Real> const* plan_;
  leap<Real> leap_;
  seismic::back<Real> adjoint_;
  std::vector<std::size_t> ring_;
  std::size_t source_ = 0;
};

/// A sweep that reuses its memory for every shot, as `sweeper` is.
template <class Real>
class backward_sweeper {
 public:
  using state = typename backward_shot<Real>::state;

  backward_sweeper(medium<Real> const& ground, survey<Real> const& plan, std::vector<Real>& sensitivity,
                   cairn::segments const& division)
      : division_{division}, shot_{ground, plan, sensitivity}, x0_{shot_.silence()},
        bar_{silence<Real>(ground.grid.cells())} {}
  backward_sweeper(backward_sweeper const&) = delete;

  double run(shot<Real> const& one) {
    shot_.aim(one);
    auto const seed = [this](state const& x) {
      bar_.before.assign(x.before.size(), Real(0));
      bar_.now.assign(x.now.size(), Real(0));
      shot_.listen(x, bar_, division_.steps());
      return std::move(bar_);
    };
    bar_ = cairn::gradient(model_.step, x0_, division_, seed, model_.adjoint, work_);
    return shot_.misfit();
  }
  [[nodiscard]] cairn::reversal_report const& report() const noexcept { return report_; }

 private:
  struct step_of { backward_shot<Real>* of; void operator()(state& x, cairn::step_index i) const { of->step(x, i); } };
  struct keep_of { backward_shot<Real>* of; std::vector<Real> operator()(state const& x) const { return of->keep(x); } };
  struct back_of {
    backward_shot<Real>* of;
    void operator()(state& x, std::vector<Real> const& line, cairn::step_index i) const { of->back(x, line, i); }
  };
  struct adjoint_of {
    backward_shot<Real>* of;
    void operator()(state const& x, wave<Real>& bar, cairn::step_index i) const { of->adjoint(x, bar, i); }
  };
  cairn::segments division_;
  backward_shot<Real> shot_;
  state x0_;
  wave<Real> bar_;
  cairn::reversal_report report_;
  cairn::model<cairn::reversible<step_of, keep_of, back_of>, adjoint_of> model_{
      cairn::reversible{step_of{&shot_}, keep_of{&shot_}, back_of{&shot_}, {.report = &report_}}, adjoint_of{&shot_}};
  cairn::workspace<state, cairn::segments> work_;
};

}  // namespace seismic
