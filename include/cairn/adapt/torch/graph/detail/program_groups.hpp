#pragma once
/// \file program_groups.hpp  Decides which operators of a call run as one operation: views and changes in place with
/// the operator that made their memory, cheap ones with their neighbours.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <cairn/adapt/torch/graph/detail/call_program.hpp>
#include <cairn/adapt/torch/graph/detail/call_trace.hpp>
#include <cairn/adapt/torch/graph/detail/captured_graph.hpp>
#include <cairn/adapt/torch/graph/detail/program_facts.hpp>

namespace cairn::libtorch::detail {

/// A few operators that run one after the other, with their own numbers for the values they use.
class operator_run_list {
 public:
  /// \param same  for each value the first one that is the same tensor   \param inputs, results  numbers of values
  operator_run_list(call_program const& program, std::vector<std::int32_t> const& same,
                    std::vector<std::size_t> const& operators, std::vector<std::int32_t> const& inputs,
                    std::vector<std::int32_t> const& results) {
    for (auto const value : inputs) inputs_.push_back(local(value));
    for (std::size_t k = 0; k < program.leaves.size(); ++k)
      if (program.is_constant[k]) constants_.emplace_back(local(std::int32_t(k)), program.leaves[k]);
    for (auto const k : operators) {
      auto one = program.operators[k];
      auto const rename = [&](std::int32_t& value) { if (value >= 0) value = local(same[std::size_t(value)]); };
      for (auto& operand : one.operands) for (auto& value : operand.values) rename(value);
      for (auto& value : one.results) rename(value);
      operators_.push_back(std::move(one));
    }
    for (auto const value : results) results_.push_back(local(value));
    std::vector<char> read(numbers_.size());
    for (auto const value : results_) read[std::size_t(value)] = 1;
    last_.resize(operators_.size());
    for (std::size_t k = operators_.size(); k-- > 0;) {
      auto const look = [&](std::int32_t value) {
        if (value >= 0 && !std::exchange(read[std::size_t(value)], char(1))) last_[k].push_back(value);
      };
      operators_[k].visit_reads(look);
      for (auto const value : operators_[k].results) look(value);
    }
  }
  [[nodiscard]] std::vector<at::Tensor> operator()(std::vector<at::Tensor> const& inputs) const {
    c10::impl::ExcludeDispatchKeyGuard const no_casts{c10::autocast_dispatch_keyset};
    std::vector<at::Tensor> values(numbers_.size());
    for (auto const& [value, t] : constants_) values[std::size_t(value)] = t;
    for (std::size_t k = 0; k < inputs_.size(); ++k) values[std::size_t(inputs_[k])] = inputs[k];
    for (std::size_t k = 0; k < operators_.size(); ++k) {
      operators_[k].run(values);
      for (auto const value : last_[k]) values[std::size_t(value)] = at::Tensor{};
    }
    std::vector<at::Tensor> results;
    for (auto const value : results_) results.push_back(values[std::size_t(value)]);
    return results;
  }

 private:
  [[nodiscard]] std::int32_t local(std::int32_t value) {
    return numbers_.try_emplace(value, std::int32_t(numbers_.size())).first->second;
  }

  std::vector<program_operator> operators_;
  std::vector<std::pair<std::int32_t, at::Tensor>> constants_;
  std::vector<std::int32_t> inputs_, results_;
  std::vector<std::vector<std::int32_t>> last_;  ///< for each operator: values that are not needed after it
  std::unordered_map<std::int32_t, std::int32_t> numbers_;
};

/// Divides a call into operations, in the order of the call. Only views may move, and only if no sum of gradients
/// changes its order.
class program_groups {
 public:
  /// \param program, facts  must outlive this object
  program_groups(call_program const& program, program_facts const& facts) : program_{program}, facts_{facts} {
    find_live();
    find_readers();
    order_operators();
    cut();
    join_silent();
    while (join_cheap()) {}
    while (repeat_small()) {}
  }

  /// \throws capture_refused   if a result lies in the memory of a leaf
  [[nodiscard]] captured_graph graph() const {
    captured_graph made;
    made.leaves = shared_tensors{program_.leaves};
    made.inputs = program_.inputs;
    for (std::size_t k = 0; k < made.inputs; ++k) made.leaves[k] = at::Tensor{};
    auto const readers = group_readers();
    std::vector<tensor_source> where(program_.values);  // for each value that passes between operations
    for (std::size_t k = 0; k < program_.leaves.size(); ++k) where[k] = {-1, std::int32_t(k)};
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto const inputs = inputs_of(groups_[g]);
      auto const results = results_of(g, readers);
      captured_operation one;
      std::vector<std::int32_t> ordered;
      for (auto const value : inputs) {
        if (std::size_t(value) < program_.leaves.size() && changes(value))
          one.changing.push_back(std::int32_t(one.inputs.size()));
        one.inputs.push_back(where[std::size_t(value)]);
        ordered.push_back(value);
      }
      for (std::size_t k = 0; k < results.size(); ++k) {
        check_memory(g, results[k]);
        where[std::size_t(results[k])] = {std::int32_t(g), std::int32_t(k)};
      }
      one.results = std::int32_t(results.size());
      for (auto const k : groups_[g]) one.draws = one.draws || facts_.operators[k].draws;
      one.name = name_of(groups_[g]);
      one.run = operator_run_list{program_, facts_.same, groups_[g], ordered, results};
      made.operations.push_back(std::move(one));
    }
    for (auto const value : program_.results) {
      auto const same = facts_.same[std::size_t(value)];
      if (where[std::size_t(same)].operation < 0 && std::size_t(same) >= program_.leaves.size())
        throw capture_refused{"a result lies in the memory of an input or a parameter"};
      made.results.push_back(where[std::size_t(same)]);
    }
    return made;
  }
  [[nodiscard]] std::vector<std::vector<std::size_t>> const& groups() const noexcept { return groups_; }

 private:
  [[nodiscard]] std::int32_t same(std::int32_t value) const { return facts_.same[std::size_t(value)]; }
  [[nodiscard]] bool is_leaf(std::int32_t value) const { return std::size_t(value) < program_.leaves.size(); }
  [[nodiscard]] bool changes(std::int32_t leaf) const {
    for (std::size_t k = program_.inputs; k < program_.leaves.size(); ++k)
      if (facts_.changes[k] && facts_.memory[k] == facts_.memory[std::size_t(leaf)]) return true;
    return false;
  }
  template <class Visit>
  void visit_reads(std::size_t k, Visit const& visit) const {
    program_.operators[k].visit_reads([&](std::int32_t value) { visit(same(value)); });
  }

  /// Removes operators whose results nobody reads, unless they draw numbers or change something.
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
  [[nodiscard]] bool is_pure_view(std::size_t k) const {
    auto const& facts = facts_.operators[k];
    return !facts.views.empty() && facts.makes.empty() && facts.writes.empty() && !facts.draws;
  }
  /// Finds the operators other than views that read a view, directly or through further views. False if the view or one
  /// of those views is a result of the call, or if a reader changes it in place.
  [[nodiscard]] bool ends_of_view(std::size_t view, std::vector<std::size_t>& ends) const {
    for (auto const value : program_.operators[view].results) {
      if (value < 0) continue;
      auto const place = std::size_t(same(value));
      if (is_result_[place]) return false;
      for (auto const reader : readers_[place]) {
        if (reader <= view) continue;
        if (!facts_.operators[reader].writes.empty() && writes_memory_of(reader, view)) return false;
        if (is_pure_view(reader)) {
          if (!ends_of_view(reader, ends)) return false;
        } else if (std::find(ends.begin(), ends.end(), reader) == ends.end()) ends.push_back(reader);
      }
    }
    return true;
  }
  [[nodiscard]] bool writes_memory_of(std::size_t writer, std::size_t view) const {
    for (auto const memory : facts_.operators[writer].writes)
      for (auto const viewed : facts_.operators[view].views) if (memory == viewed) return true;
    return false;
  }
  /// Whether an operator in (first, last) adds to the gradient of what the view reads.
  [[nodiscard]] bool others_between(std::size_t view, std::size_t first, std::size_t last) const {
    if (!facts_.operators[view].gradient) return false;
    bool found = false;
    visit_reads(view, [&](std::int32_t value) {
      if (!facts_.gradient[std::size_t(value)]) return;
      for (auto const reader : readers_[std::size_t(value)])
        found = found || (reader > first && reader < last && reader != view && facts_.operators[reader].gradient);
    });
    return found;
  }
  /// Whether an operator in (first, last) changes the memory of the view.
  [[nodiscard]] bool changed_between(std::size_t view, std::size_t first, std::size_t last) const {
    for (std::size_t k = first + 1; k < last; ++k)
      if (k != view && live_[k] && writes_memory_of(k, view)) return true;
    return false;
  }

  struct item {
    std::size_t op;
    bool joined;  ///< with the one before
  };
  [[nodiscard]] std::size_t place_of(std::size_t op) const {
    std::size_t found = order_.size();
    for (std::size_t k = order_.size(); k-- > 0;) if (order_[k].op == op) return k;
    return found;
  }
  /// One past the last operator of the operation that contains the operator at `place`.
  [[nodiscard]] std::size_t end_of(std::size_t place) const {
    do ++place;
    while (place < order_.size() && order_[place].joined);
    return place;
  }
  void order_operators() {
    waits_.assign(live_.size(), 0);
    std::size_t joined_up_to = 0;
    for (std::size_t k = 0; k < live_.size(); ++k) {
      if (!live_[k]) continue;
      if (is_pure_view(k) && goes_elsewhere(k, joined_up_to)) continue;
      std::vector<std::size_t> views;
      waiting_views(k, views);
      std::sort(views.begin(), views.end());
      bool first = true;
      for (auto const view : views) order_.push_back({view, !std::exchange(first, false) || k < joined_up_to});
      order_.push_back({k, !first || k < joined_up_to});
      join_with_memory(k);
    }
  }
  /// The views that wait for their readers and that this operator needs, each once.
  void waiting_views(std::size_t op, std::vector<std::size_t>& views) const {
    visit_reads(op, [&](std::int32_t value) {
      for (std::size_t k = op; k-- > 0;) {
        if (!waits_[k] || std::find(views.begin(), views.end(), k) != views.end()) continue;
        auto const& results = program_.operators[k].results;
        if (std::none_of(results.begin(), results.end(), [&](auto one) { return one >= 0 && same(one) == value; }))
          continue;
        views.push_back(k);
        waiting_views(k, views);
      }
    });
  }
  /// Whether a view needs no place of its own now: it is put after the operator that made its memory, or waits for its
  /// readers.
  bool goes_elsewhere(std::size_t view, std::size_t& joined_up_to) {
    std::int32_t made_by = -1;
    for (auto const memory : facts_.operators[view].views)
      made_by = (std::max)(made_by, facts_.maker[std::size_t(memory)]);
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
    if ((ends.size() == 1 || !facts_.operators[view].gradient) && !others_between(view, view, ends.back()) &&
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
    auto const is_before = [&](std::size_t op) {
      auto const place = place_of(op);
      return place < end;
    };
    visit_reads(view, [&](std::int32_t value) {
      if (!facts_.operators[view].gradient || !facts_.gradient[std::size_t(value)]) return;
      for (auto const reader : readers_[std::size_t(value)])
        free = free && (reader >= view || !facts_.operators[reader].gradient || is_before(reader));
    });
    for (std::size_t k = 0; k < view; ++k) free = free && (!live_[k] || !writes_memory_of(k, view) || is_before(k));
    return free;
  }
  /// Whether everything that an operator reads exists before that place.
  [[nodiscard]] bool reads_only_before(std::size_t op, std::size_t end) const {
    bool all = true;
    visit_reads(op, [&](std::int32_t value) {
      if (is_leaf(value)) return;
      bool found = false;
      for (std::size_t place = 0; place < end && !found; ++place)
        for (auto const one : program_.operators[order_[place].op].results)
          found = found || (one >= 0 && same(one) == value);
      all = all && found;
    });
    return all;
  }
  /// Joins an operator that changes memory in place or makes a view with all operators since the one that made the
  /// memory.
  void join_with_memory(std::size_t op) {
    auto const join_from = [&](std::int32_t memory) {
      auto const maker = facts_.maker[std::size_t(memory)];
      if (maker < 0 || std::size_t(maker) == op) return;
      auto const place = place_of(std::size_t(maker));
      for (std::size_t k = place + 1; k < order_.size(); ++k) order_[k].joined = true;
    };
    for (auto const memory : facts_.operators[op].writes) join_from(memory);
    for (auto const memory : facts_.operators[op].views) join_from(memory);
  }

  void cut() {
    for (auto const& one : order_) {
      if (!one.joined || groups_.empty()) groups_.emplace_back();
      auto& group = groups_.back();
      if (std::find(group.begin(), group.end(), one.op) == group.end()) group.push_back(one.op);
    }
  }
  /// The values that operators read and do not make themselves, each once.
  [[nodiscard]] std::vector<std::int32_t> inputs_of(std::vector<std::size_t> const& group) const {
    std::vector<std::int32_t> inputs;
    std::vector<std::int32_t> made;
    for (auto const k : group) {
      visit_reads(k, [&](std::int32_t value) {
        if (std::find(made.begin(), made.end(), value) == made.end() &&
            std::find(inputs.begin(), inputs.end(), value) == inputs.end() &&
            !(is_leaf(value) && program_.is_constant[std::size_t(value)]))
          inputs.push_back(value);
      });
      for (auto const value : program_.operators[k].results) if (value >= 0) made.push_back(same(value));
    }
    return inputs;
  }
  /// For each value: the groups that read it from outside.
  [[nodiscard]] std::vector<std::vector<std::size_t>> group_readers() const {
    std::vector<std::vector<std::size_t>> readers(program_.values);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (auto const value : inputs_of(groups_[g])) readers[std::size_t(value)].push_back(g);
    return readers;
  }
  /// The values of an operation that other operations or the caller read.
  [[nodiscard]] std::vector<std::int32_t> results_of(std::size_t g,
                                                     std::vector<std::vector<std::size_t>> const& readers) const {
    std::vector<std::int32_t> results;
    for (auto const k : groups_[g])
      for (auto const one : program_.operators[k].results) {
        if (one < 0) continue;
        auto const value = same(one);
        if (is_leaf(value) || std::find(results.begin(), results.end(), value) != results.end()) continue;
        bool wanted = is_result_[std::size_t(value)] && !made_before(g, value);
        for (auto const reader : readers[std::size_t(value)]) wanted = wanted || (reader > g && !made_before(g, value));
        if (wanted) results.push_back(value);
      }
    return results;
  }
  [[nodiscard]] bool made_before(std::size_t g, std::int32_t value) const {
    for (std::size_t other = 0; other < g; ++other)
      for (auto const k : groups_[other])
        for (auto const one : program_.operators[k].results) if (one >= 0 && same(one) == value) return true;
    return false;
  }
  void check_memory(std::size_t g, std::int32_t value) const {
    auto const memory = facts_.memory[std::size_t(value)];
    if (memory < 0) return;
    auto const maker = facts_.maker[std::size_t(memory)];
    for (auto const k : groups_[g]) if (std::int32_t(k) == maker) return;
    throw capture_refused{maker < 0 ? "a result lies in the memory of an input or a parameter"
                                    : "a view could not be put with what made its memory"};
  }

  [[nodiscard]] std::int64_t bytes_of(std::vector<std::int32_t> const& values) const {
    std::vector<std::int32_t> seen;
    std::int64_t sum = 0;
    for (auto const value : values) {
      auto const memory = facts_.memory[std::size_t(value)];
      if (memory < 0 || std::find(seen.begin(), seen.end(), memory) != seen.end()) continue;
      seen.push_back(memory);
      sum += facts_.bytes[std::size_t(memory)];
    }
    return sum;
  }
  static void append(std::vector<std::size_t>& group, std::vector<std::size_t> const& more) {
    for (auto const k : more) if (std::find(group.begin(), group.end(), k) == group.end()) group.push_back(k);
  }
  /// Joins an operation without a value for others, such as a counter that is incremented, with the next operation.
  void join_silent() {
    auto const readers = group_readers();
    std::vector<std::vector<std::size_t>> joined;
    bool silent = false;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (silent) append(joined.back(), groups_[g]);
      else joined.push_back(groups_[g]);
      silent = results_of(g, readers).empty();
    }
    if (silent && joined.size() > 1) {
      auto const last = std::move(joined.back());
      joined.pop_back();
      append(joined.back(), last);
    }
    groups_ = std::move(joined);
  }
  /// Joins neighbours if no more bytes are kept then. Only the second may read the value of the first, no adjoint may
  /// read it, and it has to be tiny or no smaller than the result. Everything else that the second reads must be kept
  /// for some adjoint anyway: if the adjoint of the joined operation reads one input, all of them have to be there.
  bool join_cheap() {
    constexpr std::int64_t tiny = 4096;
    auto const readers = group_readers();
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
        joins = joins && !is_result_[std::size_t(value)] && reads.size() == 1 && reads.front() == g;
        auto const memory = facts_.memory[std::size_t(value)];
        for (auto const k : groups_[g]) joins = joins && !saves(k, memory);
        for (auto const k : groups_[(std::max)(g, std::size_t(1)) - 1]) joins = joins && !saves(k, memory);
      }
      for (auto const value : inputs_of(groups_[g]))
        joins = joins && (is_leaf(value) || std::find(before.begin(), before.end(), value) != before.end() ||
                          is_saved(facts_.memory[std::size_t(value)]));
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
    auto const readers = group_readers();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto const results = results_of(g, readers);
      std::vector<std::size_t> to;
      bool moves = !results.empty() && !is_heavy(groups_[g]);
      for (auto const k : groups_[g]) {
        auto const& facts = facts_.operators[k];
        moves = moves && !facts.draws && !facts.gradient && facts.writes.empty();
      }
      for (auto const value : inputs_of(groups_[g])) moves = moves && is_leaf(value) && !changes(value);
      for (auto const value : results) {
        moves = moves && !is_result_[std::size_t(value)];
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
  /// Whether it contains a matrix product or the like; an operation gets at most one.
  [[nodiscard]] bool is_heavy(std::vector<std::size_t> const& group) const {
    for (auto const k : group)
      for (std::string_view const one :
           {"aten::convolution", "aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::matmul",
            "aten::linear", "aten::einsum", "aten::scaled_dot_product_attention", "aten::lstm", "aten::gru"})
        if (program_.operators[k].name == one) return true;
    return false;
  }
  [[nodiscard]] bool saves(std::size_t op, std::int32_t memory) const {
    auto const& all = facts_.operators[op].saves;
    return std::find(all.begin(), all.end(), memory) != all.end();
  }

  [[nodiscard]] bool is_saved(std::int32_t memory) const {
    for (std::size_t k = 0; k < live_.size(); ++k) if (live_[k] && saves(k, memory)) return true;
    return false;
  }

  [[nodiscard]] std::string name_of(std::vector<std::size_t> const& group) const {
    std::string text, module;
    for (auto const k : group) {
      if (is_pure_view(k) && group.size() > 1) continue;
      auto const& one = program_.operators[k];
      auto const short_name = one.name.rfind("aten::", 0) == 0 ? one.name.substr(6) : one.name;
      text += text.empty() ? one.name : "+" + short_name;
      one.visit_reads([&](std::int32_t value) {
        if (!module.empty() || !is_leaf(value)) return;
        auto const& name = program_.leaf_names[std::size_t(value)];
        module = name.substr(0, (std::min)(name.rfind('.'), name.size()));
      });
    }
    if (text.empty()) text = program_.operators[group.front()].name;
    return module.empty() ? text : text + " of " + module;
  }

  call_program const& program_;
  program_facts const& facts_;
  std::vector<char> live_;
  std::vector<std::vector<std::size_t>> readers_;  ///< of each value, by operator
  std::vector<char> is_result_;
  std::vector<item> order_;
  std::vector<std::vector<std::size_t>> groups_;
  std::vector<char> waits_;  ///< of each view: whether it goes with its readers
};

}  // namespace cairn::libtorch::detail
