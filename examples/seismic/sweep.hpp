// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sweep.hpp  Step, adjoint and seed of one shot as cairn takes them, and a sweep that reuses its memory for
/// every shot.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <cairn/cairn.hpp>

#include "survey.hpp"
#include "wave.hpp"

namespace seismic {

/// What a shot is compared with.
template <class Real>
struct shot {
  std::size_t source = 0;
  traces<Real> const* recorded = nullptr;
};

/// `step(x, i)` in place: the older pressure is overwritten by the newer one and the two change roles.
template <class Real>
class leap {
 public:
  leap(medium<Real> const& ground, survey<Real> const& plan) : ground_{&ground}, plan_{&plan} {}
  void aim(shot<Real> const& one) noexcept { source_ = one.source; }

  void operator()(wave<Real>& x, cairn::step_index i) const {
    to(x.before.data(), x.now.data(), x.before.data(), i);
    x.before.swap(x.now);
  }
  /// Step i from the pressures `before` and `now` to `after`, which may be `before`.
  void to(Real const* before, Real const* now, Real* after, cairn::step_index i) const {
    leapfrog(*ground_, before, now, after);
    after[source_] += plan_->wavelet[std::size_t(i)];
  }

 private:
  medium<Real> const* ground_;
  survey<Real> const* plan_;
  std::size_t source_ = 0;
};

/// `adjoint(x, bar, first, last)`. Runs [first, last) again, keeping one pressure a step where a checkpoint holds two,
/// and then reverses it step by step. After step i is reversed, bar belongs to state i, and what the receivers heard of
/// state i joins it there. Misfit and gradient are added up here: they outlive a sweep and are no part of the state.
template <class Real>
class back {
 public:
  /// \param sensitivity  where the gradient with respect to the medium's courant2 is added   \param leaf  most steps of
  /// one call, >= 1
  back(medium<Real> const& ground, survey<Real> const& plan, std::vector<Real>& sensitivity, cairn::step_index leaf)
      : ground_{&ground}, plan_{&plan}, sensitivity_{&sensitivity}, leap_{ground, plan}, rows_{ground.grid.nx},
        tape_(std::size_t(leaf - 1) * ground.grid.cells()) {}

  void aim(shot<Real> const& one) noexcept {
    shot_ = one;
    leap_.aim(one);
    misfit_ = 0;
  }
  /// With the misfit of the states that another one has seen.
  void go_on(double misfit) noexcept { misfit_ = misfit; }
  /// Of the states that were seen since `aim`.
  [[nodiscard]] double misfit() const noexcept { return misfit_; }

  void operator()(wave<Real> const& x, wave<Real>& bar, cairn::step_index first, cairn::step_index last) {
    auto const cells = ground_->grid.cells();
    auto const at = [&](cairn::step_index i) -> Real const* {
      return i == first ? x.now.data() : i < first ? x.before.data() : &tape_[std::size_t(i - first - 1) * cells];
    };
    for (auto i = first; i < last - 1; ++i) leap_.to(at(i - 1), at(i), &tape_[std::size_t(i - first) * cells], i);
    for (auto i = last; i-- > first;) reverse(at(i), bar, i);
  }

  /// One step, given its state's pressure.
  void reverse(Real const* u, wave<Real>& bar, cairn::step_index i) {
    leapfrog_adjoint(*ground_, u, bar.before.data(), bar.now.data(), sensitivity_->data(), rows_);
    bar.before.swap(bar.now);
    listen(u, bar, i);
  }
  /// Adds to the misfit what the receivers heard of state i, and to bar its derivative.
  void listen(Real const* u, wave<Real>& bar, cairn::step_index i) {
    if (i == 0) return;
    auto const count = plan_->receivers.size();
    Real const* const recorded = shot_.recorded->data() + std::size_t(i - 1) * count;
    for (std::size_t r = 0; r < count; ++r) {
      auto const k = plan_->receivers[r];
      Real const residual = u[k] - recorded[r];
      bar.now[k] += residual;
      misfit_ += 0.5 * double(residual) * double(residual);
    }
  }
  /// Of one that is made with these arguments, heap included.
  [[nodiscard]] static std::size_t bytes(grid const& g, cairn::step_index leaf) {
    return sizeof(back) + (3 * (g.nx + 2) + std::size_t(leaf - 1) * g.cells()) * sizeof(Real);
  }

 private:
  medium<Real> const* ground_;
  survey<Real> const* plan_;
  std::vector<Real>* sensitivity_;
  leap<Real> leap_;
  adjoint_rows<Real> rows_;
  std::vector<Real> tape_;
  shot<Real> shot_;
  double misfit_ = 0;
};

/// Everything that a sweep holds and that its budget has to cover: step, tape, adjoint and initial state here, states
/// in the workspace.
template <class Real>
class sweeper {
 public:
  sweeper(medium<Real> const& ground, survey<Real> const& plan, std::vector<Real>& sensitivity,
          cairn::any_schedule schedule)
      : schedule_{std::move(schedule)},
        step_{std::make_unique<leap<Real>>(ground, plan)},
        adjoint_{std::make_unique<back<Real>>(ground, plan, sensitivity, schedule_.leaf())},
        x0_{std::make_unique<wave<Real>>(silence<Real>(ground.grid.cells()))},
        bar_{std::make_unique<wave<Real>>(silence<Real>(ground.grid.cells()))} {}

  /// The misfit of one shot; its gradient is added to the sensitivity.
  template <class Observer = cairn::no_observer>
  double run(shot<Real> const& one, Observer&& observer = {}) {
    step_->aim(one);
    adjoint_->aim(one);
    auto const seed = [this](wave<Real> const& x) {
      bar_->before.assign(x.before.size(), Real(0));
      bar_->now.assign(x.now.size(), Real(0));
      adjoint_->listen(x.now.data(), *bar_, schedule_.steps());
      return std::move(*bar_);
    };
    *bar_ = cairn::gradient(*step_, *x0_, schedule_, seed, *adjoint_, work_, observer);
    return adjoint_->misfit();
  }
  [[nodiscard]] cairn::wide step_calls() const noexcept { return work_.step_calls(); }
  /// The adjoint of the initial state that the last sweep found.
  [[nodiscard]] wave<Real> const& bar() const noexcept { return *bar_; }

 private:
  cairn::any_schedule schedule_;
  std::unique_ptr<leap<Real>> step_;
  std::unique_ptr<back<Real>> adjoint_;
  std::unique_ptr<wave<Real>> x0_, bar_;
  cairn::workspace<wave<Real>, cairn::any_schedule> work_;
};

/// The loop of one shot as `support::plan_within` sees it.
template <class Real>
struct shot_loop {
  seismic::grid grid;
  cairn::step_index steps;

  [[nodiscard]] cairn::workload workload(cairn::step_index leaf) const {
    cairn::workload work;
    work.steps = steps;
    work.state_bytes = work.adjoint_bytes = cairn::bytes_of(silence<Real>(grid.cells()));
    work.state_inline_bytes = sizeof(wave<Real>);
    work.tape_bytes = sizeof(leap<Real>) + back<Real>::bytes(grid, leaf);
    work.form.step = cairn::step_form::in_place;
    work.form.adjoint = cairn::adjoint_form::leaf;
    return work;
  }
  /// Forward steps that a leaf runs for itself: all but its last.
  [[nodiscard]] cairn::wide leaf_steps(cairn::any_schedule const& plan) const {
    auto const leaf = plan.leaf();
    return cairn::wide(steps - (steps + leaf - 1) / leaf);
  }
  /// A checkpoint costs a copy of the state before the step that overwrites it, which moves as many numbers as a step
  /// does.
  [[nodiscard]] cairn::wide work(cairn::any_schedule const& plan, cairn::cost const& cost) const {
    return cost.step_calls + leaf_steps(plan) + cost.saves;
  }
};

}  // namespace seismic
