// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file operation_groups.hpp  The operations of a call as groups of operators, which are joined if no more bytes are
/// kept then.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/adapt/torch/graph/detail/program_uses.hpp>

namespace cairn::libtorch::detail {

/// Groups of operators, each of which becomes an operation.
class operation_groups {
 public:
  /// \param groups  operators that share memory, in order   \param uses  must outlive this object
  operation_groups(program_uses const& uses, std::vector<std::vector<std::size_t>> groups)
      : uses_{uses}, groups_{std::move(groups)} {
    join_silent();
    while (join_cheap()) {}
    while (repeat_small()) {}
  }

  [[nodiscard]] std::vector<std::vector<std::size_t>> const& all() const noexcept { return groups_; }
  /// The values that the operators of a group read and do not make themselves, each once, without constants.
  [[nodiscard]] std::vector<std::int32_t> inputs_of(std::vector<std::size_t> const& group) const {
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> made;
    for (auto const k : group) {
      uses_.visit_reads(k, [&](std::int32_t value) {
        if (std::find(made.begin(), made.end(), value) == made.end() &&
            std::find(inputs.begin(), inputs.end(), value) == inputs.end() &&
            !(uses_.is_leaf(value) && program().is_constant[std::size_t(value)]))
          inputs.push_back(value);
      });
      for (auto const value : program().operators[k].results) if (value >= 0) made.push_back(uses_.same(value));
    }
    return inputs;
  }
  /// For each value: the groups that read it from outside.
  [[nodiscard]] std::vector<std::vector<std::size_t>> readers() const {
    std::vector<std::vector<std::size_t>> readers(program().values);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (auto const value : inputs_of(groups_[g])) readers[std::size_t(value)].push_back(g);
    return readers;
  }
  /// The values of an operation that other operations or the caller read.
  [[nodiscard]] std::vector<std::int32_t> results_of(std::size_t g,
                                                     std::vector<std::vector<std::size_t>> const& readers) const {
    std::vector<std::int32_t> results;
    for (auto const k : groups_[g])
      for (auto const one : program().operators[k].results) {
        if (one < 0) continue;
        auto const value = uses_.same(one);
        if (uses_.is_leaf(value) || std::find(results.begin(), results.end(), value) != results.end()) continue;
        bool wanted = uses_.is_result(value) && !made_before(g, value);
        for (auto const reader : readers[std::size_t(value)]) wanted = wanted || (reader > g && !made_before(g, value));
        if (wanted) results.push_back(value);
      }
    return results;
  }

 private:
  [[nodiscard]] call_program const& program() const noexcept { return uses_.program(); }
  [[nodiscard]] program_facts const& facts() const noexcept { return uses_.facts(); }
  [[nodiscard]] bool made_before(std::size_t g, std::int32_t value) const {
    for (std::size_t other = 0; other < g; ++other)
      for (auto const k : groups_[other]) if (uses_.makes(k, value)) return true;
    return false;
  }
  [[nodiscard]] std::int64_t bytes_of(std::vector<std::int32_t> const& values) const {
    std::vector<std::int32_t> seen;
    std::int64_t sum = 0;
    for (auto const value : values) {
      auto const memory = facts().memory[std::size_t(value)];
      if (memory < 0 || std::find(seen.begin(), seen.end(), memory) != seen.end()) continue;
      seen.push_back(memory);
      sum += facts().bytes[std::size_t(memory)];
    }
    return sum;
  }
  static void append(std::vector<std::size_t>& group, std::vector<std::size_t> const& more) {
    for (auto const k : more) if (std::find(group.begin(), group.end(), k) == group.end()) group.push_back(k);
  }
  /// Joins an operation without a value for others, such as a counter that is incremented, with the next operation.
  void join_silent() {
    auto const readers = this->readers();
    std::vector<std::vector<std::size_t>> joined;
    bool silent = false;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (silent) append(joined.back(), groups_[g]);
      else joined.push_back(groups_[g]);
      silent = results_of(g, readers).empty();
    }
    groups_ = std::move(joined);
    while (silent && groups_.size() > 1) {  // the one before may have had no other reader than the last
      auto const last = std::move(groups_.back());
      groups_.pop_back();
      append(groups_.back(), last);
      silent = results_of(groups_.size() - 1, this->readers()).empty();
    }
  }
  /// Joins neighbouring operations if no more bytes are kept then. Only the second may read the value of the first, and
  /// no adjoint may read that value, which must be tiny or no smaller than the result of the second. Everything else
  /// that the second reads must be kept for some adjoint anyway: if the adjoint of the joined operation reads one
  /// input, all inputs must be there.
  bool join_cheap() {
    constexpr std::int64_t tiny = 4096;
    auto const readers = this->readers();
    std::vector<std::vector<std::size_t>> joined;
    bool any = false;
    std::vector<std::int32_t> before;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto const results = results_of(g, readers);
      auto const bytes = bytes_of(before);
      bool joins = g > 0 && !before.empty() && (bytes <= tiny || bytes >= bytes_of(results)) &&
                   !(is_heavy(joined.back()) && is_heavy(groups_[g]));
      for (auto const value : before) {
        auto const& reads = readers[std::size_t(value)];
        joins = joins && !uses_.is_result(value) && reads.size() == 1 && reads.front() == g;
        auto const memory = facts().memory[std::size_t(value)];
        for (auto const k : groups_[g]) joins = joins && !uses_.saves(k, memory);
        for (auto const k : groups_[(std::max)(g, std::size_t(1)) - 1]) joins = joins && !uses_.saves(k, memory);
      }
      for (auto const value : inputs_of(groups_[g]))
        joins = joins && (uses_.is_leaf(value) || std::find(before.begin(), before.end(), value) != before.end() ||
                          uses_.is_saved(facts().memory[std::size_t(value)]));
      if (joins) append(joined.back(), groups_[g]);
      else joined.push_back(groups_[g]);
      any = any || joins;
      before = results;
    }
    groups_ = std::move(joined);
    return any;
  }
  /// Puts a small operation that reads only leaves, such as a mask, into each of its readers. Otherwise an adjoint that
  /// reads the mask would need all inputs of its operation.
  bool repeat_small() {
    auto const readers = this->readers();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto const results = results_of(g, readers);
      std::vector<std::size_t> to;
      bool moves = !results.empty() && !is_heavy(groups_[g]);
      for (auto const k : groups_[g]) {
        auto const& found = facts().operators[k];
        moves = moves && !found.draws && !found.gradient && found.writes.empty();
      }
      for (auto const value : inputs_of(groups_[g])) moves = moves && uses_.is_leaf(value) && !uses_.changes(value);
      for (auto const value : results) {
        moves = moves && !uses_.is_result(value);
        for (auto const reader : readers[std::size_t(value)])
          if (std::find(to.begin(), to.end(), reader) == to.end()) to.push_back(reader);
      }
      constexpr std::int64_t share = 4;  // the result times this must not exceed the bytes of each reader's result
      for (auto const reader : to) moves = moves && bytes_of(results) * share <= bytes_of(results_of(reader, readers));
      if (!moves) continue;
      for (auto const reader : to) {
        auto all = groups_[g];
        append(all, groups_[reader]);
        groups_[reader] = std::move(all);
      }
      groups_.erase(groups_.begin() + std::ptrdiff_t(g));
      return true;
    }
    return false;
  }
  /// Whether a group contains a matrix product or the like; an operation gets at most one.
  [[nodiscard]] bool is_heavy(std::vector<std::size_t> const& group) const {
    for (auto const k : group)
      for (std::string_view const one :
           {"aten::convolution", "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::matmul",
            "aten::linear", "aten::einsum", "aten::scaled_dot_product_attention", "aten::lstm", "aten::gru"})
        if (program().operators[k].name == one) return true;
    return false;
  }

  program_uses const& uses_;
  std::vector<std::vector<std::size_t>> groups_;
};

}  // namespace cairn::libtorch::detail
