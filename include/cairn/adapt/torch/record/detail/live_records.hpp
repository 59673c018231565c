// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file live_records.hpp  The records of a process: each hears of writes of the others.
#include <ATen/core/Tensor.h>
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

namespace cairn::libtorch::detail {

/// A record that may have read what somebody else is about to write to. Versions do not show all writes, such as those
/// by `data()`.
class memory_reader {
 public:
  virtual void is_changed_soon(at::Tensor const& t) = 0;
  /// Whether this record's own operators have made the memory of the tensor.
  [[nodiscard]] virtual bool has_made(at::Tensor const& t) = 0;

 protected:
  ~memory_reader() = default;

 private:
  friend class live_records;
  std::uint64_t began_ = 0;  ///< number of calls that were over by then
};

class live_records {
 public:
  static void add(memory_reader& one) {
    std::lock_guard const lock{access()};
    all().push_back(&one);
    one.began_ = over();
    ++open();
  }
  /// The call of a record is over: it reads nothing more.
  static void end() {
    std::lock_guard const lock{access()};
    --open();
    ++over();
  }
  static void remove(memory_reader& one) {
    std::lock_guard const lock{access()};
    std::erase(all(), &one);
  }
  /// Tells all but one of them. `each_written(visit)` visits the tensors that are written to.
  template <class Each>
  static void tell_others(memory_reader& writer, Each const& each_written) {
    std::lock_guard const lock{access()};
    if (all().size() < 2) return;
    bool const is_alone = open() == 1 && over() == writer.began_;  // nobody else has run since it began
    each_written([&](at::Tensor const& t) {
      if (is_alone && writer.has_made(t)) return;
      for (auto* const other : all())
        if (other != &writer) other->is_changed_soon(t);
    });
  }

 private:
  [[nodiscard]] static int& open() {
    static int calls = 0;
    return calls;
  }
  [[nodiscard]] static std::uint64_t& over() {
    static std::uint64_t calls = 0;
    return calls;
  }
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
