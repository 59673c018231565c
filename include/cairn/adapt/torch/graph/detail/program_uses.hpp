// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file program_uses.hpp  Which operators of a call are needed, and which operators read their values.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>
#include <cairn/adapt/torch/graph/detail/call_program.hpp>
#include <cairn/adapt/torch/graph/detail/program_facts.hpp>

namespace cairn::libtorch::detail {

/// Finds the operators that the results of a call need, and the readers of each value. Values that are the same tensor
/// have the number of the first of them.
class program_uses {
 public:
  /// \param program, facts  must outlive this object
  program_uses(call_program const& program, program_facts const& facts) : program_{program}, facts_{facts} {
    find_live();
    find_readers();
  }

  [[nodiscard]] call_program const& program() const noexcept { return program_; }
  [[nodiscard]] program_facts const& facts() const noexcept { return facts_; }
  [[nodiscard]] std::int32_t same(std::int32_t value) const { return facts_.same[std::size_t(value)]; }
  [[nodiscard]] bool is_leaf(std::int32_t value) const { return std::size_t(value) < program_.leaves.size(); }
  /// Whether the call changes this leaf in place.
  [[nodiscard]] bool changes(std::int32_t leaf) const {
    for (std::size_t k = program_.inputs; k < program_.leaves.size(); ++k)
      if (facts_.changes[k] && facts_.memory[k] == facts_.memory[std::size_t(leaf)]) return true;
    return false;
  }
  /// Whether an operator is needed: its results are read, or it draws numbers or changes something.
  [[nodiscard]] bool is_live(std::size_t op) const { return live_[op] != 0; }
  [[nodiscard]] bool is_result(std::int32_t value) const { return is_result_[std::size_t(value)] != 0; }
  /// The operators that read a value, in the order of the call.
  [[nodiscard]] std::vector<std::size_t> const& readers(std::int32_t value) const {
    return readers_[std::size_t(value)];
  }
  template <class Visit>
  void visit_reads(std::size_t op, Visit const& visit) const {
    program_.operators[op].visit_reads([&](std::int32_t value) { visit(same(value)); });
  }
  [[nodiscard]] bool makes(std::size_t op, std::int32_t value) const {
    auto const& results = program_.operators[op].results;
    return std::any_of(results.begin(), results.end(), [&](auto one) { return one >= 0 && same(one) == value; });
  }
  [[nodiscard]] bool is_pure_view(std::size_t op) const {
    auto const& facts = facts_.operators[op];
    return !facts.views.empty() && facts.makes.empty() && facts.writes.empty() && !facts.draws;
  }
  [[nodiscard]] bool writes_memory_of(std::size_t writer, std::size_t view) const {
    for (auto const memory : facts_.operators[writer].writes)
      for (auto const viewed : facts_.operators[view].views) if (memory == viewed) return true;
    return false;
  }
  /// Whether autograd saves this memory for the adjoint of an operator; `is_saved`: for that of any operator.
  [[nodiscard]] bool saves(std::size_t op, std::int32_t memory) const {
    auto const& all = facts_.operators[op].saves;
    return std::find(all.begin(), all.end(), memory) != all.end();
  }
  [[nodiscard]] bool is_saved(std::int32_t memory) const {
    for (std::size_t k = 0; k < live_.size(); ++k) if (live_[k] && saves(k, memory)) return true;
    return false;
  }

 private:
  void find_live() {
    live_.assign(program_.operators.size(), 0);
    std::vector<char> needed(program_.values);
    for (auto const value : program_.results) needed[std::size_t(same(value))] = 1;
    for (std::size_t k = live_.size(); k-- > 0;) {
      auto const& facts = facts_.operators[k];
      bool wanted = facts.draws || !facts.writes.empty();
      for (auto const value : program_.operators[k].results)
        wanted = wanted || (value >= 0 && needed[std::size_t(same(value))]);
      live_[k] = wanted;
      if (wanted) visit_reads(k, [&](std::int32_t value) { needed[std::size_t(value)] = 1; });
    }
  }
  void find_readers() {
    readers_.resize(program_.values);
    for (std::size_t k = 0; k < live_.size(); ++k) {
      if (!live_[k]) continue;
      visit_reads(k, [&](std::int32_t value) {
        auto& list = readers_[std::size_t(value)];
        if (list.empty() || list.back() != k) list.push_back(k);
      });
    }
    is_result_.resize(program_.values);
    for (auto const value : program_.results) is_result_[std::size_t(same(value))] = 1;
  }

  call_program const& program_;
  program_facts const& facts_;
  std::vector<char> live_, is_result_;
  std::vector<std::vector<std::size_t>> readers_;
};

}  // namespace cairn::libtorch::detail
