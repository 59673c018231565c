// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file beside.hpp  The other thread that uses a store while a sweep does: the caller of one on two threads.
#include <mutex>

namespace cairn::detail {

struct caller_beside {
  std::mutex files;      ///< of who uses what both do
  void (*rests)(void*);  ///< rests(context) returns when the caller waits for the helper
  void* context;
};
/// Alone, if there is another thread.
[[nodiscard]] inline std::unique_lock<std::mutex> alone_with(caller_beside* other) {
  if (other == nullptr) return {};
  return std::unique_lock{other->files};
}

}  // namespace cairn::detail
