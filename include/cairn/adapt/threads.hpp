// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file threads.hpp  Computes parts of a planner's table on several threads. Component `threads`.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cairn {

/// Runs independent parts at the same time; pass it to planners of chains as their launcher. Tables and plans are the
/// same for any number of threads. Threads start and end with each call; the calling thread is one of them. If the
/// system provides fewer threads, fewer are used.
class thread_launcher {
 public:
  /// \param threads  most threads at once; 0 means as many as the machine has
  explicit thread_launcher(unsigned threads = 0) noexcept
      : threads_{threads > 0 ? threads : std::thread::hardware_concurrency()} {}
  /// Most threads at once; 0 means one, if the machine does not report its number.
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  /// Calls f(0) .. f(count - 1), each once, in any order, several at the same time.
  /// Cost: starts and ends up to threads() - 1 threads
  /// \throws the first exception of f, after all started parts have ended; the remaining parts do not run
  void operator()(std::size_t count, std::function<void(std::size_t)> const& f) const {
    std::atomic<std::size_t> next{0};
    std::exception_ptr thrown;
    std::mutex throwing;
    auto const work = [&] {
      for (std::size_t k; (k = next.fetch_add(1)) < count;) try {
          f(k);
        } catch (...) {
          next = count;
          std::lock_guard const one_at_a_time{throwing};
          if (!thrown) thrown = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    std::size_t const most = threads_ < count ? threads_ : count;
    try {
      others.reserve(most);
      while (others.size() + 1 < most) others.emplace_back(work);
    } catch (std::exception const&) {  // the system provides no more threads
    }
    work();
    for (auto& one : others) one.join();
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  unsigned threads_;
};

}  // namespace cairn
