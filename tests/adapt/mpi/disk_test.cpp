// SPDX-License-Identifier: Apache-2.0
// Sweeps of several ranks that are kept on disk: what goes on after a stop has the bits of an undisturbed sweep on every
// rank, from whatever the files of one rank have become, and what fails on one rank is one error on all.
//   mpi_disk_test                                    all of this, with stops in place of kills
//   mpi_disk_test FOLDER RANK call NUMBER VERB       one run, in which that rank, or each (-1), is killed at a call
//   mpi_disk_test FOLDER RANK write NUMBER VERB      or before a write into a file (disk_killed.cpp starts it)
#include <sys/file.h>
#include "adapt/mpi/ranks.hpp"
#include "support/failing_system.hpp"
#include "support/temporary.hpp"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <cairn/adapt/disk.hpp>
#include <cairn/planning.hpp>

namespace {

using namespace ranks;
using cairn::collective;
using cairn::disk;
using cairn::disk_use;
using failing_system::failing;
namespace fs = std::filesystem;

ring_of_24 const& here() {
  static ring_of_24 const one;
  return one;
}

// Calls of step and adjoint, of which one may be the last.
long calls = 0, last_call = -1;
bool is_killed = false;
double twist = 0, pause = 0;  // of this rank's arithmetic, and of its time
step_index twist_at = -1;     // only in this step
struct stopped {};
void call() {
  if (++calls != last_call) return;
  if (is_killed) (void)::raise(SIGKILL);
  throw stopped{};
}

struct step {
  void operator()(state& x, double const& p, step_index i) const {
    call();
    here().step(x, i);
    for (double& v : x) v *= p;
    if (twist_at < 0 ? i > 0 : i == twist_at) x[0] += twist;
  }
};
struct adjoint {
  void operator()(state const& x, state& bar, double const& p, double& dp, step_index i) const {
    call();
    if (pause > 0) std::this_thread::sleep_for(std::chrono::duration<double>{pause});
    state y = x;
    here().step(y, i);
    for (std::size_t k = 0; k < x.size(); ++k) dp += bar[k] * y[k];
    for (double& v : bar) v *= p;
    here().adjoint(x, bar, i);
  }
};
/// A term that all ranks sum together.
double misfit(state const& x, double const& p, step_index i) {
  double own = x[0] * p + 0.1 * double(i), sum = 0;
  MPI_Request pending[1];
  MPI_Iallreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, pending);
  wait_for_all(pending);
  return sum;
}
void misfit_back(state const& x, state& bar, double const& p, double& dp, step_index) {
  bar[0] += p;
  dp += x[0];
}

double const p = 0.9;
constexpr step_index n = 24;
struct answer {
  state bar;
  double dp = 7, value = 0;
  bool operator==(answer const&) const = default;
};
struct by_gradient {
  static constexpr int reverses = 0;  // of a run that is kept
  template <class Plan, class... Last>
  static answer of(state const& x0, Plan const& plan, Last&&... last) {
    answer found;
    found.bar = cairn::gradient(step{}, x0, plan, here().seed, adjoint{}, cairn::wrt{p, found.dp}, last...);
    return found;
  }
};
struct by_differentiate {
  static constexpr int reverses = 0;  // of a run that is kept
  template <class Plan, class... Last>
  static answer of(state const& x0, Plan const& plan, Last&&... last) {
    auto const f = cairn::at_every(4, misfit, misfit_back) + cairn::at_end(misfit, misfit_back);
    auto const found = cairn::differentiate(cairn::model{step{}, adjoint{}}, x0, p, plan, f, last...);
    return {found.state, found.params, found.value};
  }
};

/// Steps of which one rank chooses the size for all.
struct by_adaptive {
  static constexpr int reverses = 0;  // of a run that is kept
  static double choose(state const& x, double const&, step_index) { return 0.1 / (1 + x[0] + here().rank); }
  static void again(state& x, double const& q, step_index i, double const& dt) {
    state y = x;
    step{}(y, q, i);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] += dt * (y[k] - x[k]);
  }
  static void back(state const& x, state& bar, double const& q, double& dp, step_index i, double const& dt) {
    state inner = bar;
    for (double& v : inner) v *= dt;
    adjoint{}(x, inner, q, dp, i);
    for (std::size_t k = 0; k < x.size(); ++k) bar[k] += inner[k] - dt * bar[k];
  }
  template <class Plan, class... Last>
  static answer of(state const& x0, Plan const& plan, Last&&... last) {
    answer found;
    cairn::adaptive loop{collective{MPI_COMM_WORLD}.agreed(choose), again};
    found.bar = cairn::gradient(loop.step(), x0, plan, here().seed, loop.with_record(back), cairn::wrt{p, found.dp},
                                last...);
    return found;
  }
};

/// Calls f with what all ranks need to run together, if it is not among these.
template <class F, class... Last>
auto by_all(F f, Last&&... last) {
  if constexpr (cairn::detail::together<Last...>) return f(last...);
  else return f(last..., collective{MPI_COMM_WORLD});
}
/// A run that is kept, and reversed.
struct by_loop {
  static constexpr int reverses = 1;
  template <class Plan, class... Last>
  static answer of(state const& x0, Plan const& plan, Last&&... last) {
    answer found;
    auto run = cairn::checkpointed_loop(step{}, x0, plan, cairn::wrt{p, found.dp}, last...);
    found.bar = run.reverse(here().seed, adjoint{});
    return found;
  }
};
/// The same, reversed with another seed before.
struct by_two_reverses {
  static constexpr int reverses = 2;
  template <class Plan, class... Last>
  static answer of(state const& x0, Plan const& plan, Last&&... last) {
    answer found;
    auto run = cairn::checkpointed_loop(step{}, x0, plan, cairn::wrt{p, found.dp}, last...);
    found.value = run.reverse([](state const& x) { return x; }, adjoint{})[0] + found.dp;
    found.bar = run.reverse(here().seed, adjoint{});
    return found;
  }
};
/// A loop of which one rank knows when it ends.
struct by_while {
  static constexpr int reverses = 1;
  static bool keep_going(state const&, double const&, step_index i) { return here().rank == 0 && i < n; }
  template <class Plan, class... Last>
  static answer of(state const& x0, Plan const& plan, Last&&... last) {
    answer found;
    auto run = by_all([&](auto&&... all) {
      return cairn::checkpointed_while(step{}, x0, keep_going, plan, cairn::wrt{p, found.dp}, all...);
    }, last...);
    found.bar = run.reverse(here().seed, adjoint{});
    return found;
  }
};
/// The same with steps of which one rank chooses the size.
struct by_adaptive_while {
  static constexpr int reverses = 1;
  template <class Plan, class... Last>
  static answer of(state const& x0, Plan const& plan, Last&&... last) {
    answer found;
    cairn::adaptive loop{collective{MPI_COMM_WORLD}.agreed(by_adaptive::choose), by_adaptive::again};
    auto run = by_all([&](auto&&... all) {
      return cairn::checkpointed_while(loop.step(), x0, by_while::keep_going, plan, cairn::wrt{p, found.dp}, all...);
    }, last...);
    found.bar = run.reverse(here().seed, loop.with_record(by_adaptive::back));
    return found;
  }
};

/// A plan whose states are all in memory.
template <class Plan>
auto without_disk(Plan const& plan) {
  if constexpr (cairn::schedule<Plan>) return cairn::in_memory{plan};
  else return plan;
}
auto const two_tiers = {cairn::storage_tier{.slots = 2}, cairn::storage_tier{.slots = 3, .write = 3, .read = 3}};

void all_come() {
  MPI_Request pending[1];
  MPI_Ibarrier(MPI_COMM_WORLD, pending);
  wait_for_all(pending);
}
/// A folder of all ranks, on one file system.
class shared_folder {
 public:
  shared_folder() {
    if (here().rank == 0) made_ = std::make_unique<support::temporary>();
    char text[256]{};
    if (made_) made_->path().copy(text, sizeof text - 1);
    MPI_Bcast(text, sizeof text, MPI_CHAR, 0, MPI_COMM_WORLD);
    path_ = text;
  }
  [[nodiscard]] std::string run() const { return path_ + "/run.d"; }
  /// Where this rank's runs are.
  [[nodiscard]] std::string own() const { return run() + "/rank000" + std::to_string(here().rank); }
  [[nodiscard]] std::string only_run() const {
    auto const all = support::temporary::names_in(own());
    return all.size() == 1 ? own() + '/' + all[0] : std::string{};
  }
  /// Rank 0 changes all files, while the others wait.
  template <class Fn>
  void by_one(Fn f) const {
    all_come();
    if (here().rank == 0) f();
    all_come();
  }
  void clear() const { by_one([&] { support::temporary::remove_all(run()); }); }
  /// A copy of all files, under a name.
  void keep(std::string const& name) const {
    by_one([&] { fs::copy(run(), path_ + '/' + name, fs::copy_options::recursive); });
  }
  void put_back(std::string const& name) const {
    by_one([&] {
      support::temporary::remove_all(run());
      fs::copy(path_ + '/' + name, run(), fs::copy_options::recursive);
    });
  }
  /// The same file, in such a copy.
  [[nodiscard]] std::string kept(std::string const& name, std::string const& file) const {
    return path_ + '/' + name + file.substr(run().size());
  }

 private:
  std::unique_ptr<support::temporary> made_;
  std::string path_;
};

/// A loop of all ranks, and what it gives if nothing stops it.
template <class Verb, class Plan>
struct program {
  Plan plan;
  answer right;
  long all_calls = 0;
  state x0 = here().x0;
  shared_folder folder{};
  collective<> with{MPI_COMM_WORLD};
  cairn::disk_options options{.commit_every = 3};
  cairn::disk_report seen{};
  thrown error{};
  bool apart = false;  // each rank has a disk of its own

  explicit program(Plan of) : plan{std::move(of)} {
    calls = 0;
    right = Verb::of(x0, without_disk(plan));
    all_calls = calls;
  }
  /// Whether the run on disk ends, and right. One that ends otherwise leaves its error.
  bool run(long last = -1) {
    calls = 0, last_call = last;
    disk const on{folder.run() + (apart ? std::to_string(here().rank) : std::string{}), options};
    bool ends = false, is_right = false;
    error = thrown_by([&] {
      is_right = Verb::of(x0, plan, with, on) == right;
      ends = true;
    });
    last_call = -1;
    seen = on.report();
    claim(ends || alike(error.text), error.text);
    if (!ends) return false;
    claim(is_right, "another gradient");
    claim(alike(std::to_string(long(seen.step_calls)) + ' ' + std::to_string(int(seen.used)) + ' ' +
                std::to_string(seen.resumed_at) + ' ' + std::to_string(seen.commits)),
          "another report");
    return is_right;
  }
  void stops(long last) { claim(!run(last) && error.any, "is stopped"); }
};

template <class Verb, class Plan>
void stopped_everywhere(Plan plan, long stride = 7) {
  program<Verb, Plan> loop{std::move(plan)};
  for (long at = 2; at <= loop.all_calls; at += stride) {
    loop.folder.clear();
    loop.stops(at);
    claim(loop.run() && loop.seen.step_calls <= cairn::wide(loop.all_calls));
    if (at > 2 * n + 8 && Verb::reverses < 2) claim(loop.seen.used == disk_use::record);
    claim(loop.run(), "a run that is finished");
    if (Verb::reverses < 2) claim(loop.seen.used == disk_use::record && loop.seen.resumed_at == 0);
    if (Verb::reverses == 0) claim(loop.seen.step_calls == 0);
  }
  loop.folder.clear();
  int times = 0;
  while (times < 20 && !loop.run(loop.all_calls / 2)) ++times;
  if (Verb::reverses < 2) claim(times >= 1 && times < 20, "again and again");  // else the first one is run again
}
void a_stopped_run_goes_on_on_all_ranks() {
  stopped_everywhere<by_gradient>(cairn::hrevolve{n, two_tiers});
  stopped_everywhere<by_gradient>(cairn::revolve{n, 3}, 17);
  stopped_everywhere<by_gradient>(cairn::multistage{n, 2, 3}, 17);
  stopped_everywhere<by_differentiate>(cairn::hrevolve{n, two_tiers});
}
void a_kept_run_that_stopped_goes_on_on_all_ranks() {
  stopped_everywhere<by_loop>(cairn::hrevolve{n, two_tiers});
  stopped_everywhere<by_loop>(cairn::multistage{n, 2, 3}, 17);
  stopped_everywhere<by_two_reverses>(cairn::hrevolve{n, two_tiers}, 11);
  stopped_everywhere<by_while>(cairn::online{5});
  stopped_everywhere<by_adaptive_while>(cairn::online{5}, 11);
}
/// Meetings between actions, replay checks, an observer and a report beside a disk.
void all_that_follows_a_verb_stands_beside_a_disk() {
  program<by_gradient, cairn::hrevolve> loop{cairn::hrevolve{n, two_tiers}};
  cairn::sweep_options const checked{.verify = cairn::replay_check::checkpoints};
  loop.stops(60);
  disk const on{loop.folder.run(), loop.options};
  cairn::sweep_report report;
  int seen = 0;
  calls = 0;
  claim(by_gradient::of(loop.x0, loop.plan, checked, loop.with.every(2), on, report,
                        [&](cairn::event const&) { ++seen; }) == loop.right);
  claim(on.report().used == disk_use::record && seen > 0 && report.steps == n);
  loop.apart = true;
  loop.stops(60);
  claim(loop.run() && loop.seen.used == disk_use::record);
}
/// Each rank has a folder of its own for its states, too. What one of them loses all make again.
void states_of_ranks_stand_in_a_scratch_folder() {
  program<by_gradient, cairn::hrevolve> loop{cairn::hrevolve{n, two_tiers}};
  loop.options.scratch = loop.folder.run() + ".scratch";
  std::string const own = loop.options.scratch + "/rank000" + std::to_string(here().rank);
  auto const states = [&] {
    int all = 0;
    if (fs::exists(own))
      for (auto const& one : fs::recursive_directory_iterator{own})
        all += one.path().filename().string().starts_with("s0");
    return all;
  };
  for (bool const is_lost : {false, true}) {
    loop.folder.clear();
    loop.stops(60);
    claim(states() > 0, "states stand there");
    if (is_lost) loop.folder.by_one([&] { fs::remove_all(own); });
    claim(loop.run() && loop.seen.used == disk_use::record);
    claim(states() == 0, "they go at the end");
  }
}

/// The file with the last record, or the one before it.
std::string record_in(std::string const& run, bool before = false) {
  std::uint64_t best = 0;
  std::string found[2];
  for (char const* const name : {"/record0", "/record1"}) {
    cairn::detail::file_head head;
    std::ifstream file{run + name, std::ios::binary};
    if (!file.read(reinterpret_cast<char*>(&head), sizeof head)) continue;
    bool const later = head.sequence > best;
    found[later ? 0 : 1] = later ? (found[1] = found[0], run + name) : run + name;
    best = std::max(best, head.sequence);
  }
  return found[before ? 1 : 0];
}
void damage(std::string const& path, long at) {
  std::fstream file{path, std::ios::binary | std::ios::in | std::ios::out};
  file.seekg(at);
  int const byte = file.get();
  file.seekp(at);
  file.put(char(byte ^ 4));
}
std::vector<std::string> slots_in(std::string const& run) {
  std::vector<std::string> all;
  for (auto const& name : support::temporary::names_in(run))
    if (name[0] == 's') all.push_back(run + '/' + name);
  std::sort(all.begin(), all.end());
  return all;
}

/// \param before  an earlier stop, whose files are kept, too
template <class Verb, class Plan>
void files_of_one_rank_are_changed(Plan plan, long before, long at) {
  program<Verb, Plan> loop{std::move(plan)};
  loop.stops(before);
  loop.folder.keep("earlier");
  loop.folder.clear();
  loop.stops(at);
  loop.folder.keep("last");
  claim(loop.run());
  auto const undisturbed = loop.seen;
  bool const begun = undisturbed.used == disk_use::record;
  enum { last_record, last_record_damaged, all_records, crossed, slots, slots_damaged, heads_damaged, swapped, earlier,
         all, final_state, final_damaged, final_only, kinds };
  for (int who = 0; who < here().size; ++who)
    for (int kind = last_record; kind < (Verb::reverses > 0 && begun ? kinds : final_state); ++kind) {
      loop.folder.put_back("last");
      auto const run = loop.folder.only_run(), record = record_in(run), other = record_in(run, true);
      if (here().rank == who) {
        auto const files = slots_in(run);
        claim(!run.empty() && !files.empty() && (!begun || !other.empty()));
        if (kind == last_record || kind == all_records || kind == crossed) fs::remove(record);
        if (kind == last_record_damaged && begun) damage(record, 140);
        if (kind == all_records) fs::remove(other);
        for (auto const& file : files) {
          if (kind == slots) fs::remove(file);
          if (kind == slots_damaged) damage(file, 150);
          if (kind == heads_damaged) damage(file, 60);
          if (kind == earlier && fs::exists(loop.folder.kept("earlier", file)))
            fs::copy(loop.folder.kept("earlier", file), file, fs::copy_options::overwrite_existing);
        }
        if (kind == swapped && files.size() > 1) {
          fs::rename(files[0], run + "/between");
          fs::rename(files[1], files[0]);
          fs::rename(run + "/between", files[1]);
        }
        if (kind == all) fs::remove_all(loop.folder.own());
        if (kind == final_state) claim(fs::remove(run + "/final"));
        if (kind == final_damaged) damage(run + "/final", 150);
        if (kind == final_only) {
          for (auto const& file : files) fs::remove(file);
          fs::remove(record);
        }
      } else if (kind == crossed) fs::remove(other);
      all_come();
      std::string const what = "kind " + std::to_string(kind) + " of rank " + std::to_string(who);
      claim(loop.run(), what);
      auto const used = loop.seen.used;
      if (Verb::reverses > 0) {  // a run that has lost its records may have states, or its final one
        if (kind == last_record || kind == last_record_damaged || kind == final_only)
          claim(used == (begun ? disk_use::record : disk_use::states), what);
        else if (kind == all_records || kind == crossed || kind == all)
          claim(used != disk_use::record || (kind == crossed && here().size == 1), what);
        else if (begun) claim(used == disk_use::record && loop.seen.resumed_at == undisturbed.resumed_at, what);
      } else if (kind == last_record || kind == last_record_damaged || (kind == crossed && here().size == 1))
        claim(begun ? used == disk_use::record && loop.seen.resumed_at > undisturbed.resumed_at
                    : used == disk_use::states, what);
      else if (kind == all_records || kind == crossed) claim(used == disk_use::states, what);
      else if (kind == all) claim(used == disk_use::nothing, what);
      else if (begun) claim(used == disk_use::record && loop.seen.resumed_at == undisturbed.resumed_at, what);
    }
}
void what_one_rank_lacks_no_rank_uses() {
  cairn::hrevolve const plan{n, two_tiers};
  files_of_one_rank_are_changed<by_gradient>(plan, 10, 20);
  files_of_one_rank_are_changed<by_gradient>(plan, 20, 60);
  files_of_one_rank_are_changed<by_gradient>(cairn::multistage{n, 1, 4}, 10, 24);
  files_of_one_rank_are_changed<by_differentiate>(plan, 10, 20);
  files_of_one_rank_are_changed<by_differentiate>(plan, 20, 60);
  files_of_one_rank_are_changed<by_loop>(plan, 10, 20);
  files_of_one_rank_are_changed<by_loop>(plan, 20, 60);
  files_of_one_rank_are_changed<by_while>(cairn::online{5}, 10, 20);
  files_of_one_rank_are_changed<by_while>(cairn::online{5}, 20, 60);
}

/// A sum of terms stands beside each state; one that is made again after the turn has the sum of all of them.
void terms_are_summed_by_all_ranks_or_by_none() {
  program<by_differentiate, cairn::hrevolve> loop{cairn::hrevolve{n, two_tiers}};
  loop.stops(22);
  loop.folder.keep("forward");
  loop.folder.clear();
  {
    failing const now{{failing_system::call::read, 1, EIO, false, 's'}};
    loop.stops(70);
  }
  loop.folder.keep("remade");
  for (int who = 0; who < here().size; ++who) {
    loop.folder.put_back("remade");
    auto const run = loop.folder.only_run();
    for (auto const* const record : {"/record0", "/record1"}) fs::remove(run + record);
    if (here().rank == who)
      for (auto const& file : slots_in(run))
        if (auto const old = loop.folder.kept("forward", file); fs::exists(old))
          fs::copy(old, file, fs::copy_options::overwrite_existing);
    all_come();
    claim(loop.run() && loop.seen.used == disk_use::states);
  }
}
template <class Verb, class Plan>
void one_rank_lacks_choices(Plan plan) {
  program<Verb, Plan> loop{std::move(plan)};
  for (long const at : {20, 60}) {
    loop.folder.clear();
    loop.stops(at);
    loop.folder.keep("at" + std::to_string(at));
    for (int who = 0; who < here().size; ++who)
      for (int const kept : {0, 1, 2, 3}) {
        loop.folder.put_back("at" + std::to_string(at));
        auto const file = loop.folder.only_run() + "/choices";
        if (here().rank == who) {
          if (kept == 0) fs::remove(file);
          else fs::resize_file(file, fs::file_size(file) * std::uintmax_t(kept) / 4);
        }
        all_come();
        claim(loop.run(), "choices of rank " + std::to_string(who));
      }
  }
}
void a_choice_that_one_rank_lacks_is_made_again_by_all() {
  stopped_everywhere<by_adaptive>(cairn::hrevolve{n, two_tiers}, 11);
  one_rank_lacks_choices<by_adaptive>(cairn::hrevolve{n, two_tiers});
  one_rank_lacks_choices<by_adaptive_while>(cairn::online{5});
}
template <class Verb, class Plan>
void one_rank_cannot_read(Plan const& plan) {
  program<Verb, Plan> loop{plan};
  for (int who = 0; who < here().size; ++who)
    for (long at = 1; at <= 12; ++at) {
      loop.folder.clear();
      bool const fails = here().rank == who;
      failing const now{{fails ? failing_system::call::read : failing_system::call::none, at, EIO, false, 's'}};
      claim(loop.run());
    }
}

void a_state_that_one_rank_cannot_read_later_is_made_again_by_all() {
  one_rank_cannot_read<by_gradient>(cairn::hrevolve{n, two_tiers});
  one_rank_cannot_read<by_two_reverses>(cairn::hrevolve{n, two_tiers});
  one_rank_cannot_read<by_while>(cairn::online{5});
}

void another_x0_of_one_rank_is_another_run() {
  program<by_gradient, cairn::hrevolve> loop{cairn::hrevolve{n, two_tiers}};
  claim(loop.run());
  auto const before = loop.seen.folder;
  claim(loop.seen.used == disk_use::nothing && before.find("/rank000" + std::to_string(here().rank) + '/') != before.npos);
  auto const right = loop.right;
  if (here().rank == here().size - 1) loop.x0[0] += 1e-12;
  loop.right = by_gradient::of(loop.x0, cairn::in_memory{loop.plan});
  claim(loop.run() && loop.seen.used == disk_use::nothing && loop.seen.folder != before);
  loop.x0 = here().x0;
  loop.right = right;
  claim(loop.run() && loop.seen.resumed_at == 0 && loop.seen.folder == before);
}

/// \param is_kept  the final state has been given out before there is a record
template <class Verb, class Plan>
void begins_anew_at_the_seam(Plan const& plan, bool is_kept) {
  for (long const at : {20, 55}) {  // where states of another process are used, and a record
    program<Verb, Plan> loop{plan};
    loop.stops(at);
    if (here().rank == here().size - 1) twist = 1e-9;
    auto const right = std::exchange(loop.right, Verb::of(loop.x0, without_disk(loop.plan)));
    bool const ends = loop.run();
    if (at == 55 && is_kept) {
      claim(!ends && loop.error.text.find("a state differs from what the process that stopped had") != std::string::npos);
      twist = 0;
      loop.right = right;
      claim(loop.run() && loop.seen.used == disk_use::record);
      continue;
    }
    claim(ends && loop.seen.used == disk_use::nothing, loop.error.text);
    claim(std::string{loop.seen.why}.find("another trajectory") != std::string::npos, loop.seen.why);
    twist = 0;
  }
}
void where_one_rank_has_other_arithmetic_all_begin_anew() {
  begins_anew_at_the_seam<by_gradient>(cairn::hrevolve{n, two_tiers}, false);
  begins_anew_at_the_seam<by_loop>(cairn::hrevolve{n, two_tiers}, true);
  begins_anew_at_the_seam<by_while>(cairn::online{5}, true);
}

/// With replay checks, ranks that are stopped anywhere go on together, also if one has not the hashes that others have.
/// A single rank is refused wherever its arithmetic differs; of several, one that is refused may leave others waiting
/// for its messages, which ends all.
void replay_checks_compare_what_all_ranks_know() {
  program<by_gradient, cairn::multistage> loop{cairn::multistage{n, 2, 8}};
  cairn::sweep_options const checked{.verify = cairn::replay_check::checkpoints};
  answer found;
  auto const once = [&](long last) {
    calls = 0, last_call = last;
    disk const on{loop.folder.run(), loop.options};
    auto const seen = thrown_by([&] { found = by_gradient::of(loop.x0, loop.plan, checked, loop.with, on); });
    last_call = -1;
    return seen;
  };
  for (bool const alike_hashes : {true, false})
    for (long at = 12; at < loop.all_calls; at += 8) {
      loop.folder.clear();
      claim(once(at).any);
      if (!alike_hashes && here().rank == here().size - 1)
        for (auto const& name : support::temporary::names_in(loop.folder.only_run())) {
          auto content = support::content_of(loop.folder.only_run() + '/' + name);
          cairn::detail::file_head head;
          if (name[0] != 's' || content.size() < sizeof head) continue;
          std::memcpy(&head, content.data(), sizeof head);
          if (!head.sound()) continue;
          head.sequence = 0;
          head.seal();
          std::memcpy(content.data(), &head, sizeof head);
          support::put(loop.folder.only_run() + '/' + name, content);
        }
      all_come();
      thrown const second = once(-1);
      claim(!second.any && found == loop.right, second.text);
      claim(alike(std::to_string(calls)), "another number of calls");
    }
  if (here().size > 1) return;
  int refused = 0;
  for (twist_at = 1; twist_at < n; ++twist_at) {
    twist = 1e-6;
    answer const right_if = by_gradient::of(loop.x0, cairn::in_memory{loop.plan});
    twist = 0;
    loop.folder.clear();
    claim(once(50).any);
    twist = 1e-6;
    bool const is_refused = once(-1).any;
    refused += is_refused;
    twist = 0;
    if (is_refused) claim(!once(-1).any);
    claim(found == loop.right || (!is_refused && found == right_if), "a mixture");
  }
  twist_at = -1;
  claim(refused > 4, std::to_string(refused));
}

/// Every call of the system fails on one rank, once or from there on.
template <class Verb, class Plan>
void calls_fail_on_one_rank(program<Verb, Plan>& loop, long stride) {
  using failing_system::call;
  int const who = here().size - 1;
  int errors = 0, rights = 0;
  for (auto const of : {call::open, call::reserve, call::write, call::sync})
    for (bool const from_there : {false, true})
      for (char const files : {'s', 'r', 'l'})
        for (long at = 1; at < (of == call::reserve ? 4 : 40); at += at < 8 ? stride : 7) {
          loop.folder.clear();
          bool ended = false;
          auto const since = MPI_Wtime();
          {
            failing const now{{here().rank == who ? of : call::none, at, ENOSPC, from_there, files}};
            ended = loop.run();
          }
          claim(MPI_Wtime() - since < 20);
          ++(ended ? rights : errors);
          bool const only_records = files == 'r' && (of == call::write || of == call::sync);
          claim(ended || !only_records, "a record that one rank cannot write ends nothing");
          if (ended) {
            long const lost = long(loop.seen.commits_failed), bounds[] = {lost, -lost, long(loop.seen.commits)};
            long least[3];
            MPI_Allreduce(bounds, least, 3, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
            claim(least[0] == -least[1] && least[2] == loop.seen.commits, "all count the same records");
            if (!only_records || !from_there || lost == 0) continue;
            claim(!loop.seen.not_written.empty());
            claim(loop.run(), "afterwards");
            continue;
          }
          claim(loop.error.rank == who && loop.error.has_original == (here().rank == who), loop.error.text);
          claim(loop.error.text.find("cairn::disk") != std::string::npos, loop.error.text);
          claim(loop.run(), "afterwards");
          if (of == call::sync && at >= 5) claim(loop.seen.used == disk_use::record, "the records that all had written");
        }
  claim(errors > 20 / stride && rights > 30 / stride,
        std::to_string(errors) + " errors, " + std::to_string(rights) + " right");
}
void an_error_of_one_rank_is_an_error_of_all_or_none() {
  using failing_system::call;
  program<by_loop, cairn::hrevolve> kept{cairn::hrevolve{n, two_tiers}};
  calls_fail_on_one_rank(kept, 3);
  program<by_adaptive_while, cairn::online> open{cairn::online{5}};
  calls_fail_on_one_rank(open, 5);
  program<by_gradient, cairn::hrevolve> loop{cairn::hrevolve{n, two_tiers}};
  calls_fail_on_one_rank(loop, 1);
  int const who = here().size - 1;
  // A full disk where the sweep would begin with steps.
  loop.folder.clear();
  loop.stops(60);
  for (auto const& file : slots_in(loop.folder.only_run())) fs::remove(file);
  {
    failing const now{{here().rank == who ? call::reserve : call::none, 1, ENOSPC, false, 's'}};
    claim(!loop.run() && loop.error.rank == who && calls == 1, loop.error.text);
    claim(loop.error.text.find("the disk has no room for the checkpoints of the plan") != std::string::npos);
  }
  claim(loop.run() && loop.seen.used == disk_use::record);
  // No folder, a run that another process has, another option.
  auto const refused = [&](char const* words) {
    claim(!loop.run() && loop.error.text.find(words) != std::string::npos, loop.error.text);
    claim(calls <= 1, "no step but the first has run");
  };
  loop.folder.clear();
  loop.folder.by_one([&] {
    fs::create_directory(loop.folder.run());
    std::ofstream{loop.folder.run() + "/rank000" + std::to_string(who)} << "a file";
  });
  refused("a folder for checkpoints cannot be opened");
  claim(calls == 0);
  loop.folder.clear();
  loop.stops(30);
  int const lock = here().rank == who ? ::open((loop.folder.only_run() + "/lock").c_str(), O_RDWR) : -1;
  if (lock >= 0) claim(::flock(lock, LOCK_EX | LOCK_NB) == 0);
  refused("another process or thread works on this run");
  if (lock >= 0) (void)::close(lock);
  if (here().size > 1) {
    if (here().rank == who) loop.options.commit_every = 4;
    refused("ranks have different options");
    loop.options.commit_every = 3;
    if (here().rank == who) loop.options.key = "mine";
    claim(loop.run() && loop.seen.used == disk_use::nothing, "a run with parameters is known without a key, too");
    loop.options.key = {};
    auto const other = thrown_by([&] {
      disk const on{loop.folder.run(), loop.options};
      if (here().rank == who) (void)by_gradient::of(loop.x0, loop.plan, loop.with);
      else (void)by_gradient::of(loop.x0, loop.plan, loop.with, on);
    });
    claim(other.any && other.rank == who && other.cause == cairn::collective_cause::other_plan, other.text);
  }
  claim(loop.run());
}

void what_is_not_offered_is_refused() {
  program<by_loop, cairn::hrevolve> loop{cairn::hrevolve{n, two_tiers}};
  loop.options.resume = cairn::resume_rule::require;
  claim(!loop.run() && loop.error.text.find("nothing of an earlier process that can be used") != std::string::npos,
        loop.error.text);
  loop.options.resume = cairn::resume_rule::if_found;
  double dp = 0;
  auto run = cairn::checkpointed_loop(step{}, loop.x0, loop.plan, cairn::wrt{p, dp}, loop.with,
                                      disk{loop.folder.run(), loop.options});
  std::string refused;
  try {
    (void)run.backward();
  } catch (cairn::invalid_call const& e) {
    refused = e.what();
  }
  claim(refused.find("do not walk backwards over it") != std::string::npos, refused);
  claim(run.reverse(here().seed, adjoint{}) == loop.right.bar);
}
/// A key that only one rank has: of a run without parameters no rank uses a record then.
void trust_is_that_of_all_ranks() {
  shared_folder const folder;
  struct doubles { void operator()(state& x) const { call(), here().step(x, 0); } };
  auto const one = [&](bool keyed, long last) {
    double sum = 0;  // captured
    auto const back = [&sum](state const& x, state& bar) { call(), sum += x[0], here().adjoint(x, bar, 0); };
    calls = 0, last_call = last;
    disk const on{folder.run(), {.key = keyed && here().rank == 0 ? "mine" : "", .commit_every = 3}};
    auto const error = thrown_by([&] {
      auto run = cairn::checkpointed_loop(doubles{}, here().x0, cairn::hrevolve{n, two_tiers},
                                          collective{MPI_COMM_WORLD}, on);
      (void)run.reverse(here().seed, back);
    });
    last_call = -1;
    claim(error.any == (last > 0), error.text);
    return std::pair{sum, on.report().used};
  };
  for (bool const keyed : {false, true}) {
    folder.clear();
    auto const right = one(keyed, -1);
    folder.clear();
    (void)one(keyed, 60);
    auto const again = one(keyed, -1);
    if (here().size > 1 || !keyed) claim(again.first == right.first && again.second != disk_use::record);
  }
}

/// Ranks whose clocks and speeds differ commit at the same states.
void the_time_of_records_is_agreed() {
  if (here().size != 3) return;
  program<by_gradient, cairn::revolve> loop{cairn::revolve{60, 6}};
  loop.options = {.seconds_between_failures = here().rank == 0 ? 1.0 : 1e4};
  if (here().rank == 1) pause = 0.12;  // the first is written after 5 s
  claim(loop.run());
  claim(loop.seen.commits >= 2, std::to_string(loop.seen.commits));
  pause = 0;
}

/// One rank is asked to stop: all do, at the same action, and go on from there.
template <class Verb, class Plan>
void one_rank_is_asked_to_stop(Plan plan) {
  program<Verb, Plan> loop{std::move(plan)};
  int const who = here().size - 1;
  loop.options.commit_every = 1'000;
  for (long at = 1; at < loop.all_calls; at += 5) {
    loop.folder.clear();
    loop.options.stop = [=] { return here().rank == who && calls > at; };
    loop.run();
    if (!loop.error.any) continue;
    claim(loop.error.text.find("a rank asked to stop") != std::string::npos, loop.error.text);
    claim(alike(std::to_string(calls)), "all stop at the same action");
    long const before = calls;
    loop.options.stop = [] { return false; };
    claim(loop.run(), "goes on");
    claim(before + calls <= loop.all_calls + 5, std::to_string(before) + ' ' + std::to_string(calls));
  }
}
void all_ranks_stop_if_one_is_asked() {
  one_rank_is_asked_to_stop<by_gradient>(cairn::hrevolve{n, two_tiers});
  one_rank_is_asked_to_stop<by_loop>(cairn::hrevolve{n, two_tiers});
  one_rank_is_asked_to_stop<by_adaptive_while>(cairn::online{5});
}

/// Each rank copies the files that it is told are whole. The copies of one record, elsewhere, go on from it; where one
/// rank's copy is older than those of the others, all go on from what they have in common.
/// \param stop_at  calls after which rank 0 is asked to stop; 0: never
template <class Verb, class Plan>
void copies_go_on(Plan plan, std::size_t least, long stop_at = 0) {
  program<Verb, Plan> loop{std::move(plan)};
  fs::path const copies = loop.folder.run() + ".copies";
  std::string const rank = "rank000" + std::to_string(here().rank);
  std::vector<step_index> left;
  loop.options.stop = [=] { return stop_at > 0 && here().rank == 0 && calls >= stop_at; };
  loop.options.committed = [&](cairn::whole_run const& now) {
    fs::path const into = copies / std::to_string(left.size()) / rank / fs::path{now.folder}.filename();
    fs::create_directories(into);
    for (auto const& name : now.files) fs::copy_file(fs::path{now.folder} / name, into / name);
    left.push_back(now.left);
  };
  claim(loop.run() == (stop_at == 0));
  std::string told;
  for (step_index const one : left) told += std::to_string(one) + ' ';
  claim(alike(told), "all are told of the same records");
  claim(left.size() >= least, told);
  loop.options.stop = {}, loop.options.committed = {};
  for (std::size_t k = 0; k < left.size(); ++k)
    for (std::size_t late = 0; late < 2; ++late) {
      if (late > k) continue;
      loop.folder.clear();
      loop.folder.by_one([&] { fs::create_directory(loop.folder.run()); });
      std::size_t const mine = here().rank == 0 ? k - late : k;
      fs::copy(copies / std::to_string(mine) / rank, loop.folder.own(), fs::copy_options::recursive);
      all_come();
      claim(loop.run(), "goes on from copy " + std::to_string(k));
      if (late > 0) continue;
      claim(loop.seen.resumed_at == left[k], std::to_string(left[k]));
      if (left[k] >= 0) claim(loop.seen.used == disk_use::record);
    }
}
void what_all_ranks_copy_goes_on() {
  copies_go_on<by_differentiate>(cairn::hrevolve{n, two_tiers}, 7);
  copies_go_on<by_loop>(cairn::multistage{n, 2, 3}, 7);
  copies_go_on<by_adaptive_while>(cairn::online{5}, 7);
  copies_go_on<by_gradient>(cairn::hrevolve{n, two_tiers}, 1, 15);
  copies_go_on<by_gradient>(cairn::hrevolve{n, two_tiers}, 3, 50);
}

/// A run of which one rank, or each, is killed.
template <class Verb, class Plan>
int killed_run(char** argv, Plan const& plan) {
  auto const right = by_all([&](auto&&... all) { return Verb::of(here().x0, without_disk(plan), all...); });
  int const who = std::atoi(argv[2]);
  long const at = std::atol(argv[4]);
  bool const mine = who < 0 || who == here().rank, writes = std::strcmp(argv[3], "write") == 0;
  calls = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (mine && !writes) last_call = at, is_killed = true;
  if (mine && writes) failing_system::set({.of = failing_system::call::write, .at = at, .kills = true});
  disk const on{argv[1], {.commit_every = 3}};
  try {
    bool const is_right = Verb::of(here().x0, plan, collective{MPI_COMM_WORLD}, on) == right;
    std::printf("rank %d %s used %d at %ld steps %ld\n", here().rank, is_right ? "right" : "WRONG",
                int(on.report().used), long(on.report().resumed_at), long(on.report().step_calls));
  } catch (cairn::collective_error const& e) {
    std::printf("rank %d: %s\n", here().rank, e.what());
  }
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
int killed_run(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::string const verb = argv[5];
  cairn::hrevolve const plan{n, two_tiers};
  if (verb == "loop") return killed_run<by_loop>(argv, plan);
  if (verb == "while") return killed_run<by_adaptive_while>(argv, cairn::online{5});
  return killed_run<by_differentiate>(argv, plan);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6) return killed_run(argc, argv);
  return run(argc, argv, a_stopped_run_goes_on_on_all_ranks, a_kept_run_that_stopped_goes_on_on_all_ranks,
             what_is_not_offered_is_refused, trust_is_that_of_all_ranks, all_that_follows_a_verb_stands_beside_a_disk,
             states_of_ranks_stand_in_a_scratch_folder, what_one_rank_lacks_no_rank_uses, terms_are_summed_by_all_ranks_or_by_none,
             a_choice_that_one_rank_lacks_is_made_again_by_all,
             a_state_that_one_rank_cannot_read_later_is_made_again_by_all, another_x0_of_one_rank_is_another_run,
             where_one_rank_has_other_arithmetic_all_begin_anew,
             replay_checks_compare_what_all_ranks_know, an_error_of_one_rank_is_an_error_of_all_or_none,
             the_time_of_records_is_agreed, all_ranks_stop_if_one_is_asked, what_all_ranks_copy_goes_on);
}
