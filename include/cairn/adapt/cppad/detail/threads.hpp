// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file threads.hpp  Numbers of threads for CppAD, which keeps memory by them.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>
#include <cppad/cppad.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

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

}  // namespace cairn::detail
