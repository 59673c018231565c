// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file live_records.hpp  The records of a process: each hears of writes of the others.
#include <ATen/core/Tensor.h>
#include <algorithm>
#include <mutex>
#include <vector>

namespace cairn::libtorch::detail {

/// A record that may have read what somebody else is about to write to. Versions do not show all writes, such as those
/// by `data()`.
class memory_reader {
 public:
  virtual void is_changed_soon(at::Tensor const& t) = 0;

 protected:
  ~memory_reader() = default;
};

class live_records {
 public:
  static void add(memory_reader& one) {
    std::lock_guard const lock{access()};
    all().push_back(&one);
  }
  static void remove(memory_reader& one) {
    std::lock_guard const lock{access()};
    std::erase(all(), &one);
  }
  /// Tells all but one of them. `each_written(visit)` visits the tensors that are written to.
  template <class Each>
  static void tell_others(memory_reader const& writer, Each const& each_written) {
    std::lock_guard const lock{access()};
    if (all().size() < 2) return;
    each_written([&](at::Tensor const& t) {
      for (auto* const other : all())
        if (other != &writer) other->is_changed_soon(t);
    });
  }

 private:
  [[nodiscard]] static std::mutex& access() {
    static auto* const one = new std::mutex;
    return *one;
  }
  [[nodiscard]] static std::vector<memory_reader*>& all() {
    static auto* const one = new std::vector<memory_reader*>;
    return *one;
  }
};

}  // namespace cairn::libtorch::detail
