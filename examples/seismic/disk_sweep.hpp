// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file disk_sweep.hpp  Sweeps over one shot whose states are files where the plan says so, and which go on after
/// their process was killed.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <cairn/adapt/disk.hpp>
#include <cairn/cairn.hpp>

#include "sweep.hpp"

namespace seismic {

/// What one shot adds to the inversion.
template <class Real>
struct shot_sums {
  std::vector<Real> sensitivity;
  double misfit = 0;
};

/// As `sweeper`, with sums of each shot's own, which stand in its record. They are added to those of the other shots
/// when the shot is done.
template <class Real>
class disk_sweeper {
 public:
  /// \param folder  for the files   \param key  names all that the shots' gradients depend on beside the medium
  disk_sweeper(medium<Real> const& ground, survey<Real> const& plan, std::vector<Real>& sensitivity,
               cairn::any_schedule schedule, std::string folder, std::string key)
      : ground_{&ground},
        total_{&sensitivity},
        folder_{std::move(folder)},
        key_{std::move(key)},
        schedule_{std::move(schedule)},
        sums_{std::make_unique<shot_sums<Real>>(shot_sums<Real>{std::vector<Real>(ground.grid.cells())})},
        step_{std::make_unique<leap<Real>>(ground, plan)},
        adjoint_{std::make_unique<back<Real>>(ground, plan, sums_->sensitivity, schedule_.leaf())},
        x0_{std::make_unique<wave<Real>>(silence<Real>(ground.grid.cells()))},
        bar_{std::make_unique<wave<Real>>(silence<Real>(ground.grid.cells()))} {}

  /// The misfit of one shot; its gradient is added to the sensitivity.
  template <class Observer = cairn::no_observer>
  double run(shot<Real> const& one, Observer&& observer = {}) {
    using model = std::vector<Real>;
    using sums = shot_sums<Real>;
    step_->aim(one);
    adjoint_->aim(one);
    auto step = [this](wave<Real>& x, model const&, cairn::step_index i) { (*step_)(x, i); };
    auto const seed = [this](wave<Real> const& x, model const&, sums& by) {
      bar_->before.assign(x.before.size(), Real(0));
      bar_->now.assign(x.now.size(), Real(0));
      adjoint_->go_on(by.misfit);
      adjoint_->listen(x.now.data(), *bar_, schedule_.steps());
      by.misfit = adjoint_->misfit();
      return std::move(*bar_);
    };
    auto adjoint = [this](wave<Real> const& x, wave<Real>& bar, model const&, sums& by, cairn::step_index first,
                          cairn::step_index last) {
      adjoint_->go_on(by.misfit);
      (*adjoint_)(x, bar, first, last);
      by.misfit = adjoint_->misfit();
    };
    cairn::disk const files{folder_, {.key = cairn::key_of(key_, one.source)}};
    *bar_ = cairn::gradient(step, *x0_, schedule_, seed, adjoint, cairn::wrt{ground_->courant2, *sums_}, files,
                            observer);
    report_ = files.report();
    for (std::size_t k = 0; k < total_->size(); ++k) (*total_)[k] += sums_->sensitivity[k];
    return sums_->misfit;
  }
  [[nodiscard]] cairn::wide step_calls() const noexcept { return report_.step_calls; }
  /// About the last shot.
  [[nodiscard]] cairn::disk_report const& report() const noexcept { return report_; }
  /// Bytes of the heap beside those of a sweep in memory, at most.
  [[nodiscard]] static cairn::wide more_bytes(grid const& g, cairn::slot_index slots) noexcept {
    return cairn::disk::keeps_runs::memory_bytes(cairn::disk{""}, slots) + sizeof(shot_sums<Real>) +
           g.cells() * sizeof(Real);
  }

 private:
  medium<Real> const* ground_;
  std::vector<Real>* total_;
  std::string folder_, key_;
  cairn::any_schedule schedule_;
  std::unique_ptr<shot_sums<Real>> sums_;
  std::unique_ptr<leap<Real>> step_;
  std::unique_ptr<back<Real>> adjoint_;
  std::unique_ptr<wave<Real>> x0_, bar_;
  cairn::disk_report report_;
};

}  // namespace seismic
