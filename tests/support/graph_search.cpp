// SPDX-License-Identifier: Apache-2.0
#include "support/graph_search.hpp"
#include <algorithm>
#include "support/least_peak.hpp"

namespace brute {

graph_search::graph_search(cairn::operation_graph const& graph) : graph_{graph}, count_{int(graph.operations.size())} {
  std::vector<char> read(std::size_t(count_), 0);
  for (auto const& op : graph_.operations)
    for (auto const input : op.inputs) read[std::size_t(input)] = 1;
  if (graph_.outputs.empty())
    for (int v = 0; v < count_; ++v)
      if (!read[std::size_t(v)]) graph_.outputs.push_back(v);
  for (int v = 0; v < count_; ++v)
    tape_.push_back(graph_.operations[std::size_t(v)].tape_bytes > 0 ? 1u << bits_++ : 0u);
  droppable_ = bits_;
  for (int v = 0; v < count_; ++v) {
    auto const& op = graph_.operations[std::size_t(v)];
    ran_.push_back(op.states_changed.empty() && op.states_read.empty() ? 0u : 1u << bits_++);
    earlier_.push_back(0);
    for (int u = 0; u < v; ++u)
      if (conflict(graph_.operations[std::size_t(u)], op)) earlier_.back() |= ran_[std::size_t(u)];
  }
  // Adjoints come and go with the actions: played once, since their order is fixed.
  unsigned alive = 0;
  during_.assign(std::size_t(count_) + 1, 0), before_.assign(std::size_t(count_) + 2, 0);
  for (int v = count_; v >= 0; --v) {
    if (v == count_)
      for (auto const output : graph_.outputs) alive |= 1u << output;
    else
      for (auto const input : graph_.operations[std::size_t(v)].inputs) alive |= 1u << input;
    during_[std::size_t(v)] =
        adjoint_bytes(alive) + (v == count_ ? graph_.loss_work : graph_.operations[std::size_t(v)].adjoint_work);
    if (v < count_) alive &= ~(1u << v);
    before_[std::size_t(v)] = adjoint_bytes(alive);
  }
}
std::optional<std::int64_t> graph_search::makespan(std::int64_t budget) {
  time_.assign(std::size_t(count_ + 2) << bits_, never);
  next_ = {};
  reach(count_ + 1, 0, 0);
  while (!next_.empty()) {
    auto const [time, number] = next_.top();
    next_.pop();
    if (time > time_[number]) continue;
    int const left = int(number >> bits_);
    if (left == 0) return time;
    leave(left, unsigned(number & ((std::size_t{1} << bits_) - 1)), time, budget);
  }
  return {};
}
std::int64_t graph_search::least_peak(std::int64_t enough) { return least_peak_of(*this, enough); }
bool graph_search::conflict(cairn::graph_operation const& a, cairn::graph_operation const& b) {
  auto const meet = [](auto const& x, auto const& y) {
    return std::find_first_of(x.begin(), x.end(), y.begin(), y.end()) != x.end();
  };
  return meet(a.states_changed, b.states_changed) || meet(a.states_changed, b.states_read) ||
         meet(a.states_read, b.states_changed);
}
std::int64_t graph_search::adjoint_bytes(unsigned set) const {
  std::int64_t sum = 0;
  for (int v = 0; v < count_; ++v) {
    auto const& op = graph_.operations[std::size_t(v)];
    if (set >> v & 1u) sum += op.adjoint_bytes < 0 ? op.bytes : op.adjoint_bytes;
  }
  return sum;
}
std::int64_t graph_search::held_bytes(unsigned set) const {
  std::int64_t sum = 0;
  for (int v = 0; v < count_; ++v) {
    if (set >> v & 1u) sum += graph_.operations[std::size_t(v)].bytes;
    if (set & tape_[std::size_t(v)]) sum += graph_.operations[std::size_t(v)].tape_bytes;
  }
  return sum;
}
void graph_search::reach(int left, unsigned kept, std::int64_t time) {
  std::size_t const number = (std::size_t(left) << bits_) | kept;
  if (time >= time_[number]) return;
  time_[number] = time;
  next_.push({time, number});
}
void graph_search::leave(int left, unsigned kept, std::int64_t time, std::int64_t budget) {
  std::int64_t const held = held_bytes(kept);
  for (int item = 0; item < droppable_; ++item)
    if (kept >> item & 1u) reach(left, kept & ~(1u << item), time);
  for (int v = 0; v < count_ && v < left; ++v) {
    auto const& op = graph_.operations[std::size_t(v)];
    bool const can_run =
        std::all_of(op.inputs.begin(), op.inputs.end(), [&](auto input) { return (kept >> input & 1u) != 0; });
    if (!can_run) continue;
    unsigned const ran = ran_[std::size_t(v)];
    if ((kept & ran) == 0 && (earlier_[std::size_t(v)] & ~kept) != 0) continue;
    for (unsigned const made : {1u << v, 1u << v | tape_[std::size_t(v)]})
      if ((kept & made) != made && held_bytes(kept | made) + op.work + before_[std::size_t(left)] <= budget)
        reach(left, kept | made | ran, time + op.time);
  }
  int const v = left - 1;
  unsigned needed = 0;
  if (v == count_) {
    for (auto const output : graph_.outputs) needed |= 1u << output;
  } else {
    auto const& op = graph_.operations[std::size_t(v)];
    needed |= tape_[std::size_t(v)];
    if (op.adjoint_needs_output) needed |= 1u << v;
    for (std::size_t k = 0; k < op.inputs.size(); ++k)
      if (op.adjoint_needs_inputs[k]) needed |= 1u << op.inputs[k];
  }
  if ((kept & needed) != needed || held + during_[std::size_t(v)] > budget) return;
  if (v == count_) reach(v, kept, time + graph_.loss_time);
  else reach(v, kept & ~(1u << v | tape_[std::size_t(v)]), time + graph_.operations[std::size_t(v)].adjoint_time);
}

}  // namespace brute
