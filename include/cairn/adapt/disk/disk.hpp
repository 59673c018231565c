// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file disk.hpp  Checkpoints on disk, and sweeps that go on after their process was killed.
#include <memory>
#include <string>
#include <utility>
#include <cairn/adapt/disk/detail/kept_files.hpp>
#include <cairn/adapt/disk/detail/run_on_disk.hpp>
#include <cairn/adapt/disk/disk_options.hpp>

namespace cairn {

/// Where a store may stand: the slots of the plan that are on disk are files in a folder, and the run goes on where a
/// process before it was killed. The result has the bits of a run that was never stopped.
///
/// Each run has a folder of its own in `path`, whose name is a hash of n, plan, x0, the parameters of a `wrt`, the key,
/// and of what step 0 makes of x0: another x0 is another run. Nothing of another process is used that is not known.
/// A step that captures variables, without `wrt` and without a key, uses nothing; an adjoint that captures, without
/// `wrt`, goes on from the states but begins its reverse sweep again; all others go on in the middle of the reverse
/// sweep, from a record of bar, dp and the objective's value. `report()` says what was used, and why not more. Static
/// variables cannot be seen.
/// Cost: a record takes the bytes of bar and dp twice; it is committed, by one fdatasync, every sqrt(2 C MTBF) seconds,
/// where C is what a commit takes. A process that goes on runs one step more, and compares its state with the hash that
/// the record has. Memory: 64 KiB, and a state or two for a moment when it goes on.
/// \ingroup start
class disk {
 public:
  /// \param path  of a folder, made if it is not there, whose parent exists
  explicit disk(std::string path, disk_options options = {}) : path_{std::move(path)}, options_{std::move(options)} {}
  /// About the last run.
  [[nodiscard]] disk_report const& report() const noexcept { return *report_; }

  /// Runs a sweep; called by the verbs.
  struct keeps_runs {
    /// Bytes in memory besides states, at most: 24 a slot of the store, and 32 of the sweep.
    [[nodiscard]] static constexpr wide memory_bytes(slot_index slots) noexcept {
      return detail::io_memory::size + 4'096 + wide(slots) * 56;
    }
    /// One sweep, with what the verb was given.
    template <class Bar, class State, class Plan, class Parts, class Step, class X0, class... Rest>
    static Bar sweep(disk const& on, Parts const& parts, Step& step, X0& x0, Plan const& plan, Rest&&... rest) {
      return detail::sweep_on_disk<Bar, State>(on.path_, on.options_, *on.report_, parts, step, x0, plan,
                                               std::forward<Rest>(rest)...);
    }
    /// The store of a run that is kept.   \tparam Step  as the run keeps it
    template <class State, class Step, class Parts, class StepNow, class X0, class Plan>
    static auto kept(disk const& on, Parts const& parts, StepNow& step, X0& x0, Plan const& plan) {
      return detail::kept_files<State, Step, Parts, X0>{on.path_, on.options_, on.report_, parts, step, x0, plan};
    }
  };

 private:
  std::string path_;
  disk_options options_;
  std::shared_ptr<disk_report> report_ = std::make_shared<disk_report>();  // a kept run may outlive its `disk`
};

}  // namespace cairn
