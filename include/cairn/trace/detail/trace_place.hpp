// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trace_place.hpp  Where a thread is in its trace.
#include <cstddef>
#include <cstdint>
#include <cairn/language.hpp>

namespace cairn::detail {

/// The event that is open in this thread, and what the thread is called.
struct trace_place {
  std::uint64_t log = 0;       ///< the writer of that event; 0 for none
  std::int64_t event = -1;     ///< its number
  std::int64_t level = 0;      ///< how many events are open
  char const* category = "";   ///< the category that events inside take over; "" for none
};
/// What writers keep for each thread.
struct trace_thread {
  std::int64_t number = -1;    ///< as `number_of_thread` returns it; -1: not asked for yet
  std::uint64_t known_to = 0;  ///< the writer that named the thread last
  /// The text `,"pid":123,"tid":456,"ts":` for that writer.
  char text[80] = {};
  std::size_t text_size = 0;
};

inline constinit thread_local trace_place open_event{};
inline constinit thread_local trace_thread this_thread_named{};

/// An event that has begun, and what was open before.
struct trace_span {
  trace_place before;
  std::int64_t event = -1;
  std::int64_t began = 0;  ///< nanoseconds
};

}  // namespace cairn::detail
