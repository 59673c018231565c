#pragma once
/// \file threads.hpp  Parts of a plan's table on several threads. Component `threads`.
#include <cairn/language.hpp>  // first: the sentence that an older language gets

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cairn {

/// Runs parts that do not depend on each other at once; give it to planners of chains as their launcher. Tables and
/// plans are the same for any number of threads. Threads start and end with each call; the caller's is one of them.
/// Where the system gives fewer, fewer do the work.
class thread_launcher {
 public:
  /// \param threads  at most so many at once; those of the machine where 0
  explicit thread_launcher(unsigned threads = 0) noexcept
      : threads_{threads > 0 ? threads : std::thread::hardware_concurrency()} {}
  /// At most so many run at once; 0 where the machine does not tell, which is one.
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  /// Calls f(0) .. f(count - 1), each once, in any order. An exception of one is thrown again when all that had begun
  /// are done; the others are left out.
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
    } catch (std::exception const&) {  // the machine has no more
    }
    work();
    for (auto& one : others) one.join();
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  unsigned threads_;
};

}  // namespace cairn
