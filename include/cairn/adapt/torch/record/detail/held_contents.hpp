// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file held_contents.hpp  The contents that a call holds for backward, and which of them goes first.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <vector>
#include <c10/core/Storage.h>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/operator_run.hpp>

namespace cairn::libtorch::detail {

/// Contents that are missing, in groups that lean on one another, with the time of each group. A group only grows: what
/// is made again takes its time out of the sum. It is the estimate of dynamic tensor rematerialization (Kirisame et al.
/// 2021).
class remake_costs {
 public:
  remake_costs(memory_cells& contents, recorded_operators& operators) : contents_{contents}, operators_{operators} {}

  /// Seconds to make a content again, and what is missing on both sides of it.
  [[nodiscard]] double of(int c) {
    list_readers();
    std::array<int, 16> seen{};
    std::size_t count = 0;
    double sum = seconds(c);
    each_neighbour(c, [&](int other) {
      int const root = root_of(group_of(other));
      auto const end = seen.begin() + std::ptrdiff_t(count);
      if (count == seen.size() || std::find(seen.begin(), end, root) != end) return;
      seen[count++] = root;
      sum += groups_[std::size_t(root)].seconds;
    });
    return sum;
  }
  void is_dropped(int c) {
    list_readers();
    (void)group_of(c);
  }
  void is_made(int c) {
    int const before = std::exchange(contents_[c].group, -1);
    if (before < 0) return;
    auto& sum = groups_[std::size_t(root_of(before))].seconds;
    sum = (std::max)(0.0, sum - seconds(c));
  }

 private:
  struct group {
    int parent;
    double seconds;
  };
  [[nodiscard]] double seconds(int c) const { return double(operators_[contents_[c].made_by].seconds); }
  [[nodiscard]] bool is_missing(int c) const { return contents_[c].made_by >= 0 && !is_there(contents_[c].kept); }
  /// Visits what is missing of what a content is made of, and what is missing and must be made of it again: what nobody
  /// asks for need not.
  template <class Visit>
  void each_neighbour(int c, Visit const& visit) {
    operators_.each_read(contents_[c].made_by, [&](int from) {
      if (is_missing(from)) visit(from);
    });
    for (int t = contents_[c].readers; t >= 0; t = operators_.tensor(t).next)
      operators_.each_made(operators_.tensor(t).of, [&](int made) {
        auto const& one = contents_[made];
        if (made != c && (one.wanted > 0 || one.group >= 0) && is_missing(made)) visit(made);
      });
  }
  /// The group of a missing content. What the program has dropped itself gets one here, with all that is missing next
  /// to it.
  [[nodiscard]] int group_of(int c) {
    if (contents_[c].group >= 0) return contents_[c].group;
    open_.assign(1, c);
    contents_[c].group = new_group(c);
    while (!open_.empty()) {
      int const one = open_.back();
      open_.pop_back();
      each_neighbour(one, [&](int other) {
        if (contents_[other].group < 0) contents_[other].group = new_group(other), open_.push_back(other);
        int const a = root_of(contents_[one].group), b = root_of(contents_[other].group);
        if (a == b) return;
        groups_[std::size_t(b)].parent = a;
        groups_[std::size_t(a)].seconds += groups_[std::size_t(b)].seconds;
      });
    }
    return contents_[c].group;
  }
  [[nodiscard]] int new_group(int c) {
    groups_.push_back({int(groups_.size()), seconds(c)});
    return int(groups_.size()) - 1;
  }
  [[nodiscard]] int root_of(int g) {
    auto const parent = [&](int k) -> int& { return groups_[std::size_t(k)].parent; };
    while (parent(g) != g) g = parent(g) = parent(parent(g));
    return g;
  }
  void list_readers() {
    for (; listed_ < operators_.complete(); ++listed_) {
      auto const begin = int(operators_[listed_].tensors_at);
      auto const tensors = operators_.tensors(listed_);
      for (std::size_t k = 0; k < tensors.size(); ++k)
        if (tensors[k].is_needed)
          tensors[k].next = std::exchange(contents_[tensors[k].content].readers, begin + int(k));
    }
  }

  memory_cells& contents_;
  recorded_operators& operators_;
  int listed_ = 0;
  std::vector<group> groups_;
  std::vector<int> open_;
};

class held_contents {
 public:
  held_contents(memory_cells& contents, recorded_operators& operators)
      : contents_{contents}, costs_{contents, operators} {}

  /// \param is_own  whether the memory is ours, and nobody writes to it
  void hold(int c, c10::Storage memory, bool is_own) {
    auto& one = contents_[c];
    one.kept = std::move(memory);
    one.is_own = is_own;
    one.holding = int(held_.size());
    held_.push_back(c);
    costs_.is_made(c);
  }
  void drop(int c) {
    auto& one = contents_[c];
    if (one.holding >= 0) {
      held_[std::size_t(one.holding)] = held_.back();
      contents_[held_.back()].holding = one.holding;
      held_.pop_back();
      one.holding = -1;
    }
    if (std::exchange(one.is_part, false)) std::erase(contents_.cell_of(c).parts, c);
    one.kept = {};
  }
  /// Drops what costs least to make again for its bytes and for the time until it is asked for.
  /// \param now  operators that have run; in backward, those that had run when the tensor was saved that is asked for
  /// \param is_back  whether the call is over   \returns the bytes that are free now, and how many contents are gone
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> drop_some(std::int64_t bytes, int now, bool is_back) {
    std::int64_t freed = 0, count = 0;
    int misses = 0;
    while (freed < bytes && !held_.empty()) {
      int best = -1;
      double least = 0;
      std::size_t const stride = held_.size() / 256 + 1;  // of many, some 256 that lie evenly, others each time
      for (std::size_t k = turn_++ % stride; k < held_.size(); k += stride) {
        auto const& one = contents_[held_[k]];
        if (one.bytes == 0 || is_shared(held_[k])) continue;
        int const away = std::abs(now - (is_back && one.asked_at > now ? one.made_by : one.asked_at));
        double const score = (costs_.of(held_[k]) + 1e-7) / (double(one.bytes) * std::sqrt(double(away + 1)));
        if (best < 0 || score < least) best = held_[k], least = score;
      }
      if (best < 0) {
        if (stride == 1 || ++misses > 8) break;
        continue;
      }
      freed += contents_[best].bytes;
      each_holder(best, [&](int c) {
        drop(c);
        costs_.is_dropped(c);
        ++count;
      });
    }
    return {freed, count};
  }

 private:
  /// Visits the contents that hold the memory of this one, itself last.
  template <class Visit>
  void each_holder(int c, Visit const& visit) {
    auto const& cell = contents_.cell_of(c);
    auto const* const memory = contents_[c].kept.unsafeGetStorageImpl();
    auto const parts = cell.parts;  // a copy: what is dropped leaves the list
    for (int const part : parts)
      if (part != c && contents_[part].kept.unsafeGetStorageImpl() == memory) visit(part);
    if (int const now = cell.current;
        now != c && contents_[now].holding >= 0 && contents_[now].kept.unsafeGetStorageImpl() == memory)
      visit(now);
    visit(c);
  }
  /// Whether no byte would be free without this content: somebody else holds its memory.
  [[nodiscard]] bool is_shared(int c) {
    auto holders = contents_[c].kept.use_count();
    if (holders == 1) return false;
    if (contents_.cell_of(c).parts.empty()) return true;
    each_holder(c, [&](int) { --holders; });
    return holders > 0;
  }

  memory_cells& contents_;
  remake_costs costs_;
  std::vector<int> held_;
  std::size_t turn_ = 0;
};

}  // namespace cairn::libtorch::detail
