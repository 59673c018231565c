// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file memory_limit.hpp  One memory limit for everything that is planned in a process.
#include <cstdint>
#include <mutex>
#include <optional>
#include <cairn/core/bytes.hpp>

namespace cairn::libtorch {
namespace detail {

/// The limit of the process; threads may set and read it at the same time.
class process_limit {
 public:
  [[nodiscard]] static process_limit& instance() {
    static process_limit one;
    return one;
  }
  [[nodiscard]] std::optional<byte_size> get() const {
    std::lock_guard const lock{access_};
    return limit_;
  }
  void set(std::optional<byte_size> limit) {
    std::lock_guard const lock{access_};
    limit_ = limit;
  }

 private:
  mutable std::mutex access_;
  std::optional<byte_size> limit_;
};

}  // namespace detail

/// From now on, `checkpoint_module`, an `HCModule`, checkpointed Sequentials and loops stay within this limit, unless
/// they are given a limit, number of segments, block size, checkpoints or schedule of their own. The limit applies to
/// each of them separately, and to calls that begin after it is set.
/// \param limit  "4GB", or a number of bytes   \throws invalid_size, overflow_error
inline void set_memory_limit(byte_size limit) { detail::process_limit::instance().set(limit); }
/// Removes the limit of the process.
inline void clear_memory_limit() { detail::process_limit::instance().set({}); }
/// The limit of the process; empty if none is set.
[[nodiscard]] inline std::optional<byte_size> memory_limit() { return detail::process_limit::instance().get(); }

}  // namespace cairn::libtorch
