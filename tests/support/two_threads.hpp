// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file two_threads.hpp  Calls a function in two threads at once, and counts what random numbers come of that.
#include "support/said.hpp"
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <cairn/core/error.hpp>

namespace support {

/// Calls f(0) in this thread and f(1) in another one.
inline void in_two_threads(std::function<void(int)> const& f) {
  std::thread other{[&] { f(1); }};
  f(0);
  other.join();
}
/// What an error of that type says in each of the two; empty where there was none.
template <class Error>
std::array<std::string, 2> said_in_two_threads(std::function<void(int)> const& f) {
  std::array<std::string, 2> words;
  in_two_threads([&](int k) { words[std::size_t(k)] = said<Error>([&] { f(k); }, ""); });
  return words;
}

/// What LibTorch computations say that draw random numbers in two threads at once.
inline constexpr auto drawn_at_once =
    "random numbers were drawn while another thread ran a checkpointed computation, too";

/// How often computations of two threads had their numbers, had others, or were refused.
struct meetings {
  std::atomic<int> right = 0, wrong = 0, refused = 0;
  /// \param has_its_numbers  called so many times in each thread k; whether backward has the numbers of forward
  meetings(int times, std::function<bool(int)> const& has_its_numbers) {
    in_two_threads([&](int k) {
      for (int n = 0; n < times; ++n) {
        try {
          ++(has_its_numbers(k) ? right : wrong);
        } catch (cairn::invalid_call const& e) {
          ++(std::string{e.what()}.find(drawn_at_once) != std::string::npos ? refused : wrong);
        }
      }
    });
  }
};

}  // namespace support
