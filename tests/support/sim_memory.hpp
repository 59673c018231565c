// SPDX-License-Identifier: Apache-2.0
// Simulated memory of a device and pinned memory of the host, and the check that accesses to it are ordered.
#pragma once
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "support/sim_clock.hpp"
#include "support/sim_faults.hpp"

namespace sim {

/// Bytes that a kernel, a copy or the host reads or writes.
struct access {
  void const* at = nullptr;
  std::size_t bytes = 0;
  bool write = false;
};
inline access reads(void const* at, std::size_t bytes) { return {at, bytes, false}; }
inline access writes(void const* at, std::size_t bytes) { return {at, bytes, true}; }

enum class place { device, pinned };

/// Freed memory is poisoned and kept until the end, so that its addresses are never used again and late work can do no
/// harm to the test.
class memory {
 public:
  /// All bytes 0xff: floating-point numbers read from new memory are NaN.
  void* take(std::size_t bytes, place where) {
    auto block = std::unique_ptr<char, give_back>{static_cast<char*>(::operator new(bytes, alignment))};
    std::memset(block.get(), 0xff, bytes);
    char* const at = block.get();
    regions_.emplace(at, region{std::move(block), bytes, where, true, {}});
    held_[std::size_t(where)] += bytes;
    return at;
  }
  /// \param lost  nothing runs any more, so that nothing can be in flight
  void give_up(void* at, place where, clock const& host, bool lost, fault_list& faults) {
    auto const found = regions_.find(static_cast<char*>(at));
    if (found == regions_.end() || found->second.where != where)
      return faults.add(fault::out_of_range, "a free of what was not allocated there");
    region& freed = found->second;
    if (!freed.alive) return faults.add(fault::use_after_free, "a free of memory that is free");
    for (auto const& use : freed.uses)
      if (!lost && !host.knows(use.when)) {
        faults.add(fault::freed_in_flight, name(where) + " memory freed while a " + word(use) + " of " +
                                               name(use.when.thread) + " is in flight");
        break;
      }
    freed.alive = false;
    freed.uses.clear();
    held_[std::size_t(where)] -= freed.bytes;
    std::memset(at, 0xfe, freed.bytes);
  }
  /// One thing that thread `now.thread` does, knowing `known`: it must be ordered with all earlier uses of those bytes.
  void use(access const& what, stamp now, clock const& known, fault_list& faults) {
    if (what.bytes == 0) return;
    region* const found = region_of(what.at);
    std::size_t const from = found == nullptr ? 0 : std::size_t(static_cast<char const*>(what.at) - found->block.get());
    if (found == nullptr || from + what.bytes > found->bytes)
      return faults.add(fault::out_of_range,
                        name(now.thread) + " uses bytes that are not, or not all, in memory of the simulator");
    if (!found->alive) return faults.add(fault::use_after_free, name(now.thread) + " uses memory that is free");
    past const mine{from, from + what.bytes, what.write, now};
    std::size_t kept = 0;
    for (past const& other : found->uses) {
      bool const ordered = known.knows(other.when);
      if (!ordered && (mine.write || other.write) && mine.from < other.to && other.from < mine.to)
        faults.add(fault::race, "a " + word(mine) + " of " + name(now.thread) + " is in no order with a " +
                                    word(other) + " of " + name(other.when.thread));
      // Whatever comes after mine comes after other, and clashes with mine where it clashes with other.
      bool const covered = ordered && (mine.write || !other.write) && mine.from <= other.from && other.to <= mine.to;
      if (!covered) found->uses[kept++] = other;
    }
    found->uses.resize(kept);
    found->uses.push_back(mine);
  }
  /// Whether all of the bytes are in live memory of that kind.
  [[nodiscard]] bool lies_in(void const* at, std::size_t bytes, place where) const {
    region const* const found = const_cast<memory*>(this)->region_of(at);
    if (found == nullptr || !found->alive || found->where != where) return false;
    return std::size_t(static_cast<char const*>(at) - found->block.get()) + bytes <= found->bytes;
  }
  [[nodiscard]] std::size_t held(place where) const { return held_[std::size_t(where)]; }
  [[nodiscard]] static std::string name(std::size_t thread) {
    return thread == 0 ? "the host" : "stream " + std::to_string(thread - 1);
  }

 private:
  static constexpr std::align_val_t alignment{256};
  struct give_back { void operator()(char* block) const { ::operator delete(block, alignment); } };
  struct past {
    std::size_t from, to;
    bool write;
    stamp when;
  };
  struct region {
    std::unique_ptr<char, give_back> block;
    std::size_t bytes;
    place where;
    bool alive;
    std::vector<past> uses;
  };
  static std::string word(past const& use) { return use.write ? "write" : "read"; }
  static std::string name(place where) { return where == place::device ? "device" : "pinned"; }
  region* region_of(void const* at) {
    auto found = regions_.upper_bound(static_cast<char const*>(at));
    if (found == regions_.begin()) return nullptr;
    --found;
    return static_cast<char const*>(at) < found->second.block.get() + found->second.bytes ? &found->second : nullptr;
  }

  std::map<char const*, region, std::less<>> regions_;
  std::size_t held_[2] = {};
};

}  // namespace sim
