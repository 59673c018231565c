// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operator_order.hpp  Orders the operators of a call so that views are next to what made their memory, or next
/// to their readers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/graph/detail/program_uses.hpp>

namespace cairn::libtorch::detail {

/// The operators of a call in order, and which of them run as one operation because they share memory. Only views move,
/// and only if no sum of gradients changes its order.
class operator_order {
 public:
  /// \param uses  must outlive this object
  explicit operator_order(program_uses const& uses) : uses_{uses}, waits_(uses.program().operators.size()) {
    std::size_t joined_up_to = 0;
    for (std::size_t k = 0; k < waits_.size(); ++k) {
      if (!uses_.is_live(k)) continue;
      if (uses_.is_pure_view(k) && goes_elsewhere(k, joined_up_to)) continue;
      std::vector<std::size_t> views;
      waiting_views(k, views);
      std::sort(views.begin(), views.end());
      bool first = true;
      for (auto const view : views) order_.push_back({view, !std::exchange(first, false) || k < joined_up_to});
      order_.push_back({k, !first || k < joined_up_to});
      join_with_memory(k);
    }
  }

  /// The operators of each operation, in order.
  [[nodiscard]] std::vector<std::vector<std::size_t>> groups() const {
    std::vector<std::vector<std::size_t>> groups;
    for (auto const& one : order_) {
      if (!one.joined || groups.empty()) groups.emplace_back();
      auto& group = groups.back();
      if (std::find(group.begin(), group.end(), one.op) == group.end()) group.push_back(one.op);
    }
    return groups;
  }

 private:
  struct item {
    std::size_t op;
    bool joined;  ///< with the one before
  };

  [[nodiscard]] program_facts const& facts() const noexcept { return uses_.facts(); }

  /// Finds the operators other than views that read a view, directly or through further views. False if the view or one
  /// of those views is a result of the call, or if a reader changes it in place.
  [[nodiscard]] bool ends_of_view(std::size_t view, std::vector<std::size_t>& ends) const {
    for (auto const value : uses_.program().operators[view].results) {
      if (value < 0) continue;
      auto const first = uses_.same(value);
      if (uses_.is_result(first)) return false;
      for (auto const reader : uses_.readers(first)) {
        if (reader <= view) continue;
        if (!facts().operators[reader].writes.empty() && uses_.writes_memory_of(reader, view)) return false;
        if (uses_.is_pure_view(reader)) {
          if (!ends_of_view(reader, ends)) return false;
        } else if (std::find(ends.begin(), ends.end(), reader) == ends.end()) ends.push_back(reader);
      }
    }
    return true;
  }
  /// Whether an operator in (first, last) adds to the gradient of what the view reads.
  [[nodiscard]] bool others_between(std::size_t view, std::size_t first, std::size_t last) const {
    if (!facts().operators[view].gradient) return false;
    bool found = false;
    uses_.visit_reads(view, [&](std::int32_t value) {
      if (!facts().gradient[std::size_t(value)]) return;
      for (auto const reader : uses_.readers(value))
        found = found || (reader > first && reader < last && reader != view && facts().operators[reader].gradient);
    });
    return found;
  }
  /// Whether an operator in (first, last) changes the memory of the view.
  [[nodiscard]] bool changed_between(std::size_t view, std::size_t first, std::size_t last) const {
    for (std::size_t k = first + 1; k < last; ++k)
      if (k != view && uses_.is_live(k) && uses_.writes_memory_of(k, view)) return true;
    return false;
  }

  [[nodiscard]] std::size_t place_of(std::size_t op) const {
    for (std::size_t k = order_.size(); k-- > 0;) if (order_[k].op == op) return k;
    return order_.size();
  }
  /// One past the last operator of the operation that contains the operator at `place`.
  [[nodiscard]] std::size_t end_of(std::size_t place) const {
    do ++place;
    while (place < order_.size() && order_[place].joined);
    return place;
  }
  /// The views that wait for their readers and that this operator needs, each once.
  void waiting_views(std::size_t op, std::vector<std::size_t>& views) const {
    uses_.visit_reads(op, [&](std::int32_t value) {
      for (std::size_t k = op; k-- > 0;) {
        if (!waits_[k] || std::find(views.begin(), views.end(), k) != views.end() || !uses_.makes(k, value)) continue;
        views.push_back(k);
        waiting_views(k, views);
      }
    });
  }
  /// Whether a view needs no place of its own now: it is put after the operator that made its memory, or waits for its
  /// readers.
  bool goes_elsewhere(std::size_t view, std::size_t& joined_up_to) {
    std::int32_t made_by = -1;
    for (auto const memory : facts().operators[view].views)
      made_by = (std::max)(made_by, facts().maker[std::size_t(memory)]);
    if (made_by >= 0) {
      auto const end = end_of(place_of(std::size_t(made_by)));
      if (end == order_.size() ? reads_only_before(view, end) : may_come_at(view, end)) {
        order_.insert(order_.begin() + std::ptrdiff_t(end), item{view, true});
        return true;
      }
    }
    std::vector<std::size_t> ends;
    if (!ends_of_view(view, ends) || ends.empty()) return false;
    std::sort(ends.begin(), ends.end());
    if ((ends.size() == 1 || !facts().operators[view].gradient) && !others_between(view, view, ends.back()) &&
        !changed_between(view, view, ends.back())) {
      waits_[view] = 1;
      return true;
    }
    if (made_by < 0) joined_up_to = (std::max)(joined_up_to, ends.back() + 1);  // one operation up to its last reader
    return false;
  }
  /// Whether a view may run at that place instead of now: everything it reads exists there, and in between nothing
  /// changes it or adds to the gradients to which it adds.
  [[nodiscard]] bool may_come_at(std::size_t view, std::size_t end) const {
    if (!reads_only_before(view, end)) return false;
    bool free = true;
    auto const is_before = [&](std::size_t op) { return place_of(op) < end; };
    uses_.visit_reads(view, [&](std::int32_t value) {
      if (!facts().operators[view].gradient || !facts().gradient[std::size_t(value)]) return;
      for (auto const reader : uses_.readers(value))
        free = free && (reader >= view || !facts().operators[reader].gradient || is_before(reader));
    });
    for (std::size_t k = 0; k < view; ++k)
      free = free && (!uses_.is_live(k) || !uses_.writes_memory_of(k, view) || is_before(k));
    return free;
  }
  /// Whether everything that an operator reads exists before that place.
  [[nodiscard]] bool reads_only_before(std::size_t op, std::size_t end) const {
    bool all = true;
    uses_.visit_reads(op, [&](std::int32_t value) {
      if (uses_.is_leaf(value)) return;
      bool found = false;
      for (std::size_t place = 0; place < end && !found; ++place) found = uses_.makes(order_[place].op, value);
      all = all && found;
    });
    return all;
  }
  /// Joins an operator that changes memory in place or makes a view with all operators since the one that made the
  /// memory.
  void join_with_memory(std::size_t op) {
    auto const join_from = [&](std::int32_t memory) {
      auto const maker = facts().maker[std::size_t(memory)];
      if (maker < 0 || std::size_t(maker) == op) return;
      auto const place = place_of(std::size_t(maker));
      for (std::size_t k = place + 1; k < order_.size(); ++k) order_[k].joined = true;
    };
    for (auto const memory : facts().operators[op].writes) join_from(memory);
    for (auto const memory : facts().operators[op].views) join_from(memory);
  }

  program_uses const& uses_;
  std::vector<item> order_;
  std::vector<char> waits_;  ///< for each view: whether it goes with its readers
};

}  // namespace cairn::libtorch::detail
