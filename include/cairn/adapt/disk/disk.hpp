// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file disk.hpp  Checkpoints on disk, and sweeps that go on after their process was killed.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/statvfs.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <cairn/adapt/disk/detail/call_reports.hpp>
#include <cairn/adapt/disk/detail/chain_on_disk.hpp>
#include <cairn/adapt/disk/detail/descriptor.hpp>
#include <cairn/adapt/disk/detail/kept_files.hpp>
#include <cairn/adapt/disk/detail/plan_on_disk.hpp>
#include <cairn/adapt/disk/detail/run_folder.hpp>
#include <cairn/adapt/disk/detail/run_on_disk.hpp>
#include <cairn/adapt/disk/disk_options.hpp>
#include <cairn/adapt/disk/reads_only.hpp>
#include <cairn/core/bytes.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/state_bytes.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/rules/workload.hpp>
#include <cairn/schedule/any.hpp>

namespace cairn {
namespace detail {

/// Writes a state and reads it, in a run of its own whose folder is removed.
template <class Value>
[[nodiscard]] tier_cost probe_folder(std::string const& path, Value const& x, std::optional<byte_size> on_disk,
                                     compression compress) {
  static_assert(written_state<Value>,
                "cairn: checkpoints on disk need states whose bytes can all be written and read back; give the state "
                "members write_state(sink) const and read_state(source), or declare an array type by cairn::flat; "
                "Eigen's types need <cairn/adapt/eigen.hpp>");
  using clock = std::chrono::steady_clock;
  constexpr int tries = 5;
  constexpr run_id id{{0x70726f6265000000u, 0}};  // one for all probes: what a killed one has left is used again
  std::uint64_t const file = bytes_of_file(written_bytes(x));
  double write[tries], read[tries];
  std::uint64_t room = 0;
  outer_folders const outer{open_folder(AT_FDCWD, path)};
  {
    run_folder folder{outer, path, id, 1};
    if (compress != nullptr) folder.compress(*compress);
    struct statvfs disk {};
    if (::fstatvfs(outer.runs.get(), &disk) != 0) refuse_file("the free space of a disk cannot be read", errno, path);
    room = std::uint64_t(disk.f_bavail) * disk.f_frsize / 10 * 9;
    struct ends {
      run_folder& folder;
      ~ends() { folder.remove(); }
    } const last{folder};
    folder.reserve(1, file - sizeof(file_head), [](slot_index) { return true; });
    Value again = copy_of(x);
    auto const seconds_of = [](auto const& done) {
      auto const before = clock::now();
      done();
      return std::chrono::duration<double>(clock::now() - before).count();
    };
    for (int k = 0; k < tries; ++k) {
      write[k] = seconds_of([&] {
        std::uint64_t written = 0;
        int const error = folder.write_slot(0, 0, hash_of(x), 0, [&](auto& sink) { write_state(x, sink); }, written);
        if (error != 0) refuse_file("a state cannot be written", error, folder.path());
      });
      read[k] = seconds_of([&] {
        if (!folder.read_checkpoint(0, 0, again, [](auto&) {}))
          refuse_file("a state cannot be read back as it was written", EIO, folder.path());
      });
    }
  }
  auto const median = [](double(&of)[tries]) {
    std::sort(of, of + tries);
    return of[tries / 2];
  };
  if (on_disk) room = on_disk->count();
  std::uint64_t state = file;
  if constexpr (sized_state<Value>) state = bytes_of(x);  // by which planners count states
  return {median(write), median(read), wide(room / file) * state};
}

}  // namespace detail

class disk;
template <class State>
[[nodiscard]] tier_cost probe(disk const& on, State const& x0, std::optional<byte_size> on_disk = {});

/// The bytes of a checkpoint's file, 16 of them for the objective of a `differentiate`; `gradient` does not write them.
/// \param x0  a state, or an object, of which a snapshot is written
template <class State>
[[nodiscard]] std::uint64_t file_bytes(State const& x0) {
  return detail::as_stored(x0, [](auto const& x) { return detail::bytes_of_file(written_bytes(x)); });
}

/// Where a store may stand: the slots of the plan that are on disk are files in a folder, and the run goes on where a
/// process before it was killed. The result has the bits of a run that was never stopped.
///
/// Each run has a folder of its own in `path`, whose name is a hash of n, plan, x0, p, the key, what step 0 makes of x0,
/// every function with all that it holds, and the builds of their code: another of these is another run. What cannot be
/// seen, such as what a reference or a pointer shows, is not believed: with such a step or object nothing of another
/// process is used, with such an adjoint, seed or term of the final state only states. One word says it:
/// `reads_only(f, values...)` or a key; of an object, its members `write_state` and `read_state`. All others go on in
/// the middle of the reverse sweep, from a record of bar, dp and the objective's value.
/// States of other processes are compared wherever they are made again; if they differ, the run begins anew. `report()`
/// says what was used, and why not more. Static variables cannot be seen.
/// One `disk const` serves several threads at once, each with another run; of those that want the same run, one has it,
/// and the others are told so by `directory_busy`.
/// In `chain_gradient` stages are steps.
/// Nothing is stored with loss: what is read back must have the hash of what was written, or it is an `invalid_call`.
/// A record that cannot be written ends nothing: the sweep goes on and tries again later, and `report()` says so.
/// `disk_options::stop` ends a run within one action, with `stopped`; the next process goes on from there.
/// Cost: a record takes the bytes of bar and dp twice; it is committed, by one fdatasync, every sqrt(2 C MTBF) seconds,
/// where C is what a commit takes. A process that goes on runs one step more, and compares its state with the hash that
/// the record has. Memory: 64 KiB, 0.7 MB more with compression, and a state or two for a moment when it goes on.
/// \ingroup start
class disk {
 public:
  /// \param path  of a folder or of a link to one, made if it is not there, whose parent exists
  explicit disk(std::string path, disk_options options = {}) : path_{std::move(path)}, options_{std::move(options)} {}
  /// Of the folder that holds the runs.
  [[nodiscard]] std::string const& path() const noexcept { return path_; }
  /// About the last call of this thread, or the one under way; in a thread that made none, about the last of all.
  [[nodiscard]] disk_report report() const { return reports_->last(); }

  /// Runs a sweep; called by the verbs.
  struct keeps_runs {
    /// Bytes in memory besides states, at most.
    [[nodiscard]] static wide memory_bytes(disk const& on, slot_index slots, bool keeps_run = false) noexcept {
      return shown_bytes(on) + io_memories(on) * 4'096 + bytes_of_slots(slots, keeps_run);
    }
    /// Of these, what events show as held by the store.
    [[nodiscard]] static wide shown_bytes(disk const& on) noexcept {
      return io_memories(on) * (detail::io_memory::size + detail::block_packer::memory_bytes(on.options_.compress));
    }
    /// States that it holds in memory besides those of the plan, while files are behind the sweep.
    [[nodiscard]] static slot_index states_behind(disk const& on) noexcept {
      return detail::states_behind(on.options_.behind);
    }
    using plans = any_schedule;  ///< of a `budget_of` with a folder
    /// The plan of such a budget, by counts alone. It has room for the step that a process which goes on runs once more.
    /// \param bytes_of_plan  `bytes_of_plan(plan, slots)`, bytes in memory with so many of the plan's slots there
    /// \param grown  by which the largest state exceeds x0   \param leaf  steps that one adjoint call reverses
    /// \throws infeasible_budget
    template <class Budget, class State, class BytesOf>
    static any_schedule plan_for(Budget const& within, State const& x0, sweep_form form, BytesOf bytes_of_plan,
                                 wide grown = 0, step_index leaf = 1) {
      wide const copies = copied_state<State> && form.step == step_form::in_place ? 1 : 2;  // see `check_seam`
      wide const seam = copies * (grown + detail::as_stored(x0, [](auto const& x) { return wide(bytes_of(x)); }));
      auto const bytes = [&](any_schedule const& plan, slot_index slots) {
        return bytes_of_plan(plan, slots + within.states) + plan.own_bytes() + within.beside +
               bytes_of_slots(slots, form.keeps_run) + seam;
      };
      auto const file = file_bytes(x0) + std::uint64_t(grown);
      return detail::disk_planner{within.steps, leaf, within.on_disk, file, form.adjoint, bytes}.plan(within.bytes);
    }
    /// One sweep.   \param all  the processes that run it; each has a folder of its own in that of the user
    /// \param asked  what the verb was given beside
    template <class Bar, class State, class Agreement, class Asked, class Parts, class Step, class X0, class Plan,
              class Seed, class Adjoint>
    static Bar sweep(disk const& on, Agreement const& all, Asked const& asked, Parts const& parts, Step& step, X0& x0,
                     Plan const& plan, Seed&& seed, Adjoint& adjoint) {
      disk_report report;
      detail::told_at_end const tells{*on.reports_, report};
      return detail::sweep_on_disk<Bar, State>(asked, all, on.path_, on.options_, tells, detail::all_parts(parts),
                                               step, x0, plan, std::forward<Seed>(seed), adjoint);
    }
    /// One sweep of a chain.   \tparam Memory  its states, tapes and adjoint
    template <class Memory, class... Last>
    static typename Memory::adjoint_type chain(disk const& on, Last&&... last) {
      disk_report report;
      detail::told_at_end const tells{*on.reports_, report};
      return detail::chain_on_disk<Memory>(on.path_, on.options_, tells, std::forward<Last>(last)...);
    }
    /// Bytes in memory besides those of the chain's plan, at most.
    [[nodiscard]] static wide chain_bytes(disk const& on, step_index stages) noexcept {
      return memory_bytes(on, 0) + 18 * (wide(std::uint64_t(stages)) + 2);
    }
    /// The store of a run that is kept, by one of several processes too.   \tparam Step  as the run keeps it
    template <class State, class Step, class Parts, class StepNow, class X0, class Plan,
              class Agreement = detail::one_process>
    static auto kept(disk const& on, Parts const& parts, StepNow& step, X0& x0, Plan const& plan,
                     Agreement const& all = {}) {
      auto const known = detail::all_parts(parts);
      return detail::kept_files<State, Step, std::remove_const_t<decltype(known)>, X0, Agreement>{
          on.path_, on.options_, on.reports_, known, step, x0, plan, all};
    }

   private:
    /// One for the sweep, and one for the thread behind it.
    [[nodiscard]] static wide io_memories(disk const& on) noexcept { return detail::is_any(on.options_.behind) ? 2 : 1; }
    /// Besides their states.
    [[nodiscard]] static wide bytes_of_slots(slot_index slots, bool keeps_run) noexcept {
      return wide(slots) * (detail::bytes_a_slot_on_disk + (keeps_run ? detail::bytes_of_hashes : wide{0}));
    }
  };

 private:
  template <class State>
  friend tier_cost probe(disk const& on, State const& x0, std::optional<byte_size> on_disk);
  std::string path_;
  disk_options options_;
  std::shared_ptr<detail::call_reports> reports_ =
      std::make_shared<detail::call_reports>();  // a kept run may outlive its `disk`
};

/// What writing and reading a state takes in a folder, and how many states it has room for: `work.tiers.disk =
/// probe(run, x0)` for `advise`. Writes and reads one file as a run does, five times, and takes the medians. What was
/// just written is read from the system's memory: where the files of a plan do not fit into it, a disk is slower.
/// The folder is `scratch` if there is one. Leaves nothing in it but the folder itself.
/// \param on_disk  room for states; by default nine tenths of what is free
/// Cost: memory for a state and 64 KiB; the bytes of a state on disk
/// \throws storage_full, file_error, directory_busy
template <class State>
[[nodiscard]] tier_cost probe(disk const& on, State const& x0, std::optional<byte_size> on_disk) {
  return detail::as_stored(
      x0, [&](auto const& x) {
        std::string const& scratch = on.options_.scratch;
        return detail::probe_folder(scratch.empty() ? on.path() : scratch, x, on_disk, on.options_.compress);
      });
}

}  // namespace cairn
