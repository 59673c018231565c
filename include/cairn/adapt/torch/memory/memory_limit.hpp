// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_limit.hpp  One memory limit for everything that is planned in a process.
#include <mutex>
#include <optional>
#include <cairn/core/bytes.hpp>

namespace cairn::libtorch {
namespace detail {

/// The limit of the process; threads may set and read it at the same time.
struct process_limit {
  std::mutex access;
  std::optional<byte_size> bytes;
};
[[nodiscard]] inline process_limit& limit_of_process() {
  static process_limit one;
  return one;
}
inline void set_process_limit(std::optional<byte_size> bytes) {
  std::lock_guard const lock{limit_of_process().access};
  limit_of_process().bytes = bytes;
}

}  // namespace detail

/// From now on, `checkpoint_module`, checkpointed Sequentials and loops stay within this limit, unless
/// they are given a limit, number of segments, block size, checkpoints or schedule of their own. The limit applies to
/// each of them separately, and to calls that begin after it is set.
/// \param limit  "4GB", or a number of bytes   \throws invalid_size, overflow_error
inline void set_memory_limit(byte_size limit) { detail::set_process_limit(limit); }
/// Removes the limit of the process.
inline void clear_memory_limit() { detail::set_process_limit({}); }
/// The limit of the process; empty if none is set.
[[nodiscard]] inline std::optional<byte_size> memory_limit() {
  std::lock_guard const lock{detail::limit_of_process().access};
  return detail::limit_of_process().bytes;
}

}  // namespace cairn::libtorch
