// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file remake_costs.hpp  What it costs to make a content again: its own time, and that of what is missing around it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/record/detail/memory_cells.hpp>
#include <cairn/adapt/torch/record/detail/recorded_operators.hpp>

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

}  // namespace cairn::libtorch::detail
