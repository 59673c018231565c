// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file cppad.hpp  CppAD's tape (PyPI: cmeel-cppad), for `taped` and `differentiate`.
#include <cairn/language.hpp>  // first: an older language gets its message
#include <algorithm>
#include <atomic>
#include <cppad/cppad.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>
#include <cairn/adapt/ad/detail/shared_record.hpp>
#include <cairn/adapt/ad/tape.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {
namespace detail {

/// Gives each thread that uses CppAD the lowest number that is free, until it ends.
class cppad_threads {
  using function = CppAD::ADFun<double>;

 public:
  /// The only one. It is never freed: tapes may be destroyed after everything else.
  [[nodiscard]] static cppad_threads& all() {
    static auto& one = *new cppad_threads;
    return one;
  }
  /// \throws invalid_call   if CppAD is set up for threads already, or has fewer
  void set_up(std::size_t most) {
    if (CppAD::thread_alloc::num_threads() > 1)
      throw invalid_call{"cairn::cppad_in_threads", "CppAD is set up for threads already",
                         {{"threads", CppAD::thread_alloc::num_threads()}}, "do it once in a program"};
    if (most < 2 || most > CPPAD_MAX_NUM_THREADS)
      throw invalid_call{"cairn::cppad_in_threads", "the number of threads is out of range",
                         {{"threads", most}, {"largest", std::size_t(CPPAD_MAX_NUM_THREADS)}},
                         "give 2 or more, and define CPPAD_MAX_NUM_THREADS before including CppAD for more"};
    taken_.assign(most, false);
    left_.resize(most);
    (void)number();  // 0, which CppAD has given this thread so far
    CppAD::thread_alloc::parallel_setup(most, [] { return all().count_ > 1; }, [] { return all().number(); });
    CppAD::parallel_ad<double>();
  }
  /// Frees a function in the thread that has its number, or at once if there is no other thread.
  void free(std::size_t number, std::unique_ptr<function> one) noexcept {
    if (one == nullptr) return;
    std::lock_guard const held{guard_};  // no other thread begins meanwhile
    if (CppAD::thread_alloc::in_parallel() && mine() != number && number < left_.size())
      left_[number].push_back(std::move(one));
    one.reset();
  }
  /// Frees what other threads have left for this one.
  void free_left() {
    std::lock_guard const held{guard_};
    if (mine() < left_.size()) left_[mine()].clear();
  }

 private:
  static constexpr std::size_t none = std::size_t(-1);
  [[nodiscard]] static std::size_t& mine() noexcept {
    static thread_local std::size_t number = none;
    return number;
  }
  /// \throws invalid_call   if all are taken
  [[nodiscard]] std::size_t number() {
    if (mine() == none) take();
    return mine();
  }
  void take() {
    struct giver {
      ~giver() { all().give_back(); }
    };
    {
      std::lock_guard const held{guard_};
      auto const free = std::find(taken_.begin(), taken_.end(), false);
      if (free == taken_.end())
        throw invalid_call{"cairn::cppad_tape", "more threads use CppAD than it was set up for",
                           {{"threads", taken_.size()}}, "give cairn::cppad_in_threads more"};
      *free = true;
      ++count_;
      mine() = std::size_t(free - taken_.begin());
    }
    static thread_local giver const at_end;
    free_left();
  }
  void give_back() noexcept {
    std::lock_guard const held{guard_};
    taken_[mine()] = false;
    --count_;
    mine() = none;
  }

  std::recursive_mutex guard_;  // freeing asks for the thread's number
  std::vector<bool> taken_;
  std::vector<std::vector<std::unique_ptr<function>>> left_;
  std::atomic<std::size_t> count_{0};
};

/// Whether this thread records with CppAD, which a private function knows. An explicit instantiation may name it.
[[nodiscard]] inline bool cppad_records();
template <CppAD::local::ADTape<double>* (*Now)()>
struct cppad_recording {
  friend inline bool cppad_records() { return Now() != nullptr; }
};
template struct cppad_recording<&CppAD::AD<double>::tape_ptr>;

}  // namespace detail

/// Sets CppAD up for threads, so that each can use tapes of its own at the same time; else they wait for each other,
/// leaf by leaf. To be called once, before other threads use CppAD and while nothing is recorded. A program that calls
/// CppAD's own `parallel_setup` does not need it.
/// \param most  threads that use CppAD at a time, the calling one included, 2..CPPAD_MAX_NUM_THREADS (48)
/// \throws invalid_call   if the number is out of range, or CppAD is set up already
inline void cppad_in_threads(std::size_t most = CPPAD_MAX_NUM_THREADS) { detail::cppad_threads::all().set_up(most); }

/// A tape of CppAD: a recording of `AD<double>` and the function made from it. One recording at a time per thread; for
/// more threads than one see `cppad_in_threads`. A recording belongs to the thread that has made it. It can replay
/// recordings, with varying numbers as CppAD's dynamic parameters: for models that allow this see `taped`.
class cppad_tape {
 public:
  using scalar = CppAD::AD<double>;  ///< CppAD's number

  cppad_tape() = default;
  /// The new tape has the recording.
  cppad_tape(cppad_tape&&) = default;
  /// Frees the recording.
  ~cppad_tape() {
    auto const held = hold();
    abandon();
    drop();
  }

  /// Unless CppAD is set up for threads: while the result lives, other threads wait.
  [[nodiscard]] detail::record_hold hold() const {
    static char const program = 0;
    if (CppAD::thread_alloc::num_threads() > 1) return {};
    return detail::hold(detail::shared_record::at(&program));
  }
  /// Makes room for the independent variables. Turns CppAD's checks for nan off: derivatives that are not numbers are
  /// returned as they are.
  /// \throws invalid_call   if a recording is in progress in this thread, or there are more threads than CppAD is set
  ///   up for
  void begin(std::size_t count) {
    auto const held = hold();
    if (detail::cppad_records())
      throw invalid_call{"cairn::cppad_tape", "CppAD is recording already in this thread", {},
                         "end the other recording first"};
    detail::cppad_threads::all().free_left();
    drop();  // before the new recording takes memory
    function_ = std::make_unique<function>();
    function_->check_for_nan(false);
    thread_ = CppAD::thread_alloc::thread_num();
    ++recordings_;
    places_.clear();
    inputs_.clear();
    values_.clear();
    results_.clear();
    varying_places_.clear();
    varying_.clear();
    inputs_.reserve(count);
  }
  /// The next independent variable.
  void independent(scalar& v, double value) {
    places_.push_back(&v);
    inputs_.emplace_back(value);
    values_.push_back(value);
  }
  /// The next number that a replay may change.
  void varies(scalar& v, double value) {
    varying_places_.push_back(&v);
    varying_.emplace_back(value);
    v = value;
  }
  /// CppAD declares all independent variables at once; they are copied back to their places here.
  void record() {
    if (inputs_.empty()) return;
    if (varying_.empty()) CppAD::Independent(inputs_);
    else CppAD::Independent(inputs_, 0, true, varying_);
    recording_.open = true;
    for (std::size_t k = 0; k < places_.size(); ++k) *places_[k] = inputs_[k];
    for (std::size_t k = 0; k < varying_.size(); ++k) *varying_places_[k] = varying_[k];
  }
  /// The next result.
  void dependent(scalar const& v) { results_.push_back(v); }
  /// Makes a function from the recording, and recomputes its values, which the reverse needs.
  void end() {
    if (!recording_.open) return;
    if (results_.empty()) return abandon();
    recording_.open = false;
    function_->Dependent(inputs_, results_);
    function_->Forward(0, values_);
  }
  /// Recomputes the values of the last recording for other numbers.
  [[nodiscard]] bool replay(double const* numbers) {
    if (inputs_.empty() || results_.empty() || !of_this_thread()) return false;
    values_.assign(numbers, numbers + inputs_.size());
    if (!varying_.empty()) {
      seeds_.assign(numbers + inputs_.size(), numbers + inputs_.size() + varying_.size());
      function_->new_dynamic(seeds_);
    }
    found_ = function_->Forward(0, values_);
    return function_->compare_change_number() == 0;
  }
  [[nodiscard]] double const* replayed() const noexcept { return found_.data(); }  ///< results of the last replay
  [[nodiscard]] std::uint64_t recordings() const noexcept { return recordings_; }  ///< recordings begun so far
  /// One reverse sweep of first order.   \throws invalid_call   in another thread than the recording's
  void reverse(double const* seeds, double* bars) {
    if (inputs_.empty()) return;
    if (!of_this_thread())
      throw invalid_call{"cairn::cppad_tape", "the recording belongs to another thread", {{"thread", thread_}},
                         "record and reverse in one thread"};
    if (results_.empty()) {
      std::fill(bars, bars + inputs_.size(), 0.0);
      return;
    }
    seeds_.assign(seeds, seeds + results_.size());
    auto const found = function_->Reverse(1, seeds_);
    std::copy(found.begin(), found.end(), bars);
  }
  /// Ends a recording that is not needed.
  void abandon() noexcept {
    if (recording_.open && of_this_thread()) scalar::abort_recording();
    recording_.open = false;
  }
  /// Frees the recording.
  void clear() {
    auto const held = hold();
    abandon();
    drop();
    places_ = varying_places_ = std::vector<scalar*>{};
    inputs_ = results_ = varying_ = std::vector<scalar>{};
    values_ = seeds_ = found_ = std::vector<double>{};
  }
  /// Bytes of the sequence of operations, of the values of its variables, and of the same number of partial
  /// derivatives; and three quarters of that for CppAD's vectors, which grow by half, with old and new in memory.
  [[nodiscard]] wide bytes() const {
    if (function_ == nullptr) return 0;
    wide const sum = wide(function_->size_op_seq()) + function_->size_random() +
                     2 * wide(function_->size_var()) * sizeof(double) +
                     wide(inputs_.capacity() + results_.capacity()) * sizeof(scalar);
    return sum + sum / 4 * 3;
  }

 private:
  using function = CppAD::ADFun<double>;
  /// Whether this tape records; not the one that it was moved from.
  struct open_flag {
    bool open = false;
    open_flag() = default;
    open_flag(open_flag&& other) noexcept : open{std::exchange(other.open, false)} {}
  };
  /// CppAD keeps memory by the number of the thread that has taken it.
  [[nodiscard]] bool of_this_thread() const { return CppAD::thread_alloc::thread_num() == thread_; }
  void drop() noexcept { detail::cppad_threads::all().free(thread_, std::move(function_)); }

  std::unique_ptr<function> function_;  // behind a pointer: CppAD's move reads an uninitialised flag
  std::vector<scalar*> places_, varying_places_;
  std::vector<scalar> inputs_, results_, varying_;
  std::vector<double> values_, seeds_, found_;
  open_flag recording_;
  std::size_t thread_ = 0;
  std::uint64_t recordings_ = 0;
};
static_assert(replaying_tape<cppad_tape>);

}  // namespace cairn
