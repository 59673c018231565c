// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <cairn/core/error.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>
#include <cairn/plan/graph/liveness.hpp>
#include <cairn/profile/profile_of.hpp>

namespace cairn {
namespace detail {

inline constexpr std::string_view loss_name = "loss", output_name = "output", adjoint_ending = ".backward",
                                  tape_ending = ".tape";

/// The name of a node and the names that it reads: "add(conv, relu)".
struct node_call {
  std::string name;
  std::vector<std::string> reads;
  bool is_call = false;  ///< whether there are brackets
};
[[nodiscard]] inline std::string text_of(std::string_view name, std::vector<std::string> const& reads) {
  std::string text{name};
  text += '(';
  for (std::size_t k = 0; k < reads.size(); ++k) text += (k > 0 ? ", " : "") + reads[k];
  return text += ')';
}
[[nodiscard]] inline node_call call_in(std::string_view text) {
  node_call made;
  std::size_t const open = text.find('(');
  made.name = std::string{text.substr(0, open)};
  made.is_call = open != text.npos && text.ends_with(')');
  if (!made.is_call) return made;
  text = text.substr(open + 1, text.size() - open - 2);
  while (!text.empty()) {
    std::size_t const comma = text.find(", ");
    made.reads.emplace_back(text.substr(0, comma));
    text.remove_prefix(comma == text.npos ? text.size() : comma + 2);
  }
  return made;
}
/// Whether a name can be written in a call and read back.
[[nodiscard]] inline bool can_be_read(std::string_view name) noexcept {
  return !name.empty() && name.find_first_of("(),\r\n") == name.npos && !name.ends_with(adjoint_ending) &&
         !name.ends_with(tape_ending);
}

[[nodiscard]] inline double as_seconds(std::int64_t nanoseconds) noexcept { return double(nanoseconds) / 1e9; }
[[nodiscard]] inline std::int64_t nanoseconds_of(double seconds) noexcept {
  return std::int64_t(std::llround(seconds * 1e9));
}

/// The most bytes, and the most nanoseconds, that all nodes of a profile may have together; up to it, no sum overflows.
inline constexpr wide most_profiled = wide{1} << 60;

[[noreturn]] inline void refuse_profile_sums(char const* who, wide sum) {
  throw overflow_error{who, "the sums of this profile exceed 2^60", {{"sum", sum}},
                       "no machine has that many bytes, and no sweep takes that many nanoseconds"};
}
/// The names of all operations, checked.
[[nodiscard]] inline std::vector<std::string> names_of(profiled_graph const& measured, char const* who) {
  std::size_t const count = measured.graph.operations.size();
  std::vector<std::string> names = measured.names;
  if (names.empty())
    for (std::size_t v = 0; v < count; ++v) names.push_back("op_" + std::to_string(v));
  if (names.size() != count)
    throw invalid_call{who, "the names are not one per operation", {{"names", names.size()}, {"operations", count}},
                       "give a name for each operation, or none at all"};
  if (measured.reads.size() > count)
    throw invalid_call{who, "there are more lists of leaves than operations",
                       {{"lists", measured.reads.size()}, {"operations", count}},
                       "give one for each operation, or none"};
  std::set<std::string, std::less<>> seen{std::string{loss_name}, std::string{output_name}};
  std::size_t place = 0;
  auto const check = [&](std::string const& name) {
    if (!can_be_read(name))
      throw invalid_call{who, "a name cannot be read back", {{"name", place}},
                         "give names without brackets, commas and line ends, that do not end with .tape or .backward"};
    if (!seen.insert(name).second)
      throw invalid_call{who, "a name is given twice", {{"name", place}},
                         "give leaves and operations names of their own; loss and output are taken"};
    ++place;
  };
  for (auto const& leaf : measured.leaves) check(leaf.name);
  for (auto const& name : names) check(name);
  for (auto const& update : measured.updates) check(update.name);
  for (auto const& list : measured.reads)
    for (std::size_t const leaf : list)
      if (leaf >= measured.leaves.size())
        throw invalid_call{who, "an operation reads a leaf that is not there",
                           {{"leaf", leaf}, {"leaves", measured.leaves.size()}}, "give numbers of leaves"};
  wide standing = 0;
  for (auto const& leaf : measured.leaves) {
    if (leaf.bytes < 0)
      throw invalid_plan{who, "a leaf has a negative size", {{"bytes", leaf.bytes}}, "give 0 or more"};
    standing += 2 * wide(leaf.bytes);
  }
  for (auto const& update : measured.updates) {
    if (update.time < 0 || update.work < 0)
      throw invalid_plan{who, "an update has a negative time or work", {{"time", update.time}, {"work", update.work}},
                         "give 0 or more"};
    standing += wide(update.work);
  }
  if (standing > most_profiled) refuse_profile_sums(who, standing);
  return names;
}

/// The rows of the activations of a graph: values that adjoints read, and tapes.
[[nodiscard]] inline std::vector<activation_stats> activations_of(operation_graph const& graph,
                                                                  std::vector<std::string> const& names,
                                                                  std::span<step_index const> evicted,
                                                                  step_index first_rank) {
  auto const values = liveness_of(graph, evicted), tapes = tape_liveness_of(graph, evicted);
  std::vector<activation_stats> rows;
  auto const add = [&](value_liveness const& of, std::string name) {
    if (!of.first_backward_use) return;
    rows.push_back({std::move(name), first_rank + of.created, first_rank + of.last_forward_use,
                    first_rank + *of.first_backward_use, first_rank + *of.last_backward_use, of.bytes,
                    as_seconds(of.inactive_time), as_seconds(of.recompute_time), of.recompute_bytes});
  };
  for (std::size_t v = 0; v < names.size(); ++v) {
    add(values[v], names[v]);
    add(tapes[v], names[v] + std::string{tape_ending});
  }
  return rows;
}

inline constexpr std::string_view input_word = "input_";  ///< prefix of an input's place, as in "input_2"

/// What the adjoint of an operation reads, in words.
[[nodiscard]] inline std::vector<std::string> reads_of_adjoint(graph_operation const& of) {
  std::vector<std::string> words;
  auto const& some = of.adjoint_needs_inputs.each();
  for (std::size_t place = 0; place < some.size(); ++place)
    if (some[place]) words.push_back(std::string{input_word} + std::to_string(place));
  if (some.empty() && of.adjoint_needs_inputs[0]) words.emplace_back("inputs");
  if (of.adjoint_needs_output) words.emplace_back("output");
  if (of.tape_bytes > 0) words.emplace_back("tape");
  return words;
}

/// For each leaf the last operation that reads it; the number of operations if none does.
[[nodiscard]] inline std::vector<std::size_t> last_readers(std::vector<std::vector<std::size_t>> const& reads,
                                                           std::size_t leaves, std::size_t count) {
  std::vector<std::size_t> last(leaves, count);
  for (std::size_t v = 0; v < reads.size(); ++v)
    for (std::size_t const leaf : reads[v]) last[leaf] = v;
  return last;
}

/// A chain as a graph. The tape of an operation is the tape of its stage without the stage's output; the adjoint reads
/// that output, too.
[[nodiscard]] inline operation_graph graph_of_chain(chain_model const& c) {
  operation_graph graph;
  for (std::size_t i = 0; i < std::size_t(c.stages); ++i) {
    graph_operation next;
    if (i > 0) next.inputs.push_back(step_index(i) - 1);
    next.bytes = c.x[i + 1], next.tape_bytes = c.s[i] - c.x[i + 1];
    next.time = c.u[i], next.work = c.f[i];
    next.adjoint_bytes = c.g[i + 1], next.adjoint_time = c.v[i];
    next.adjoint_work = (std::max)(c.b[i] - c.g[i], std::int64_t{0});
    next.adjoint_needs_inputs = !c.self_contained_tape;
    graph.operations.push_back(std::move(next));
  }
  std::size_t const last = std::size_t(c.stages);
  graph.loss_time = c.v[last], graph.loss_work = (std::max)(c.b[last] - c.g[last], std::int64_t{0});
  return graph;
}

/// Reads the structure of a profile off the names of its nodes, and the sizes off its bytes.
class profile_reader {
 public:
  profile_reader(profile_stats const& stats, char const* who) : stats_{stats}, who_{who} {
    check_sums();
    find_parts();
    for (auto const& row : stats.activations) sizes_[row.activation_name] = row.median_mem_size_bytes;
    read_operations();
    read_loss();
    read_adjoints();
    check_graph(graph_, who_);
  }

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  /// The graph with its structure and its times.
  [[nodiscard]] operation_graph const& structure() const noexcept { return graph_; }
  [[nodiscard]] std::size_t rank(std::size_t action) const noexcept { return first_ + action; }
  /// Bytes before action 0..2n, and the most bytes during it. `active(2n + 1)` is the bytes before the node after the
  /// last adjoint.
  [[nodiscard]] std::int64_t active(std::size_t action) const noexcept {
    return stats_.nodes[rank(action)].median_active_mem_bytes;
  }
  [[nodiscard]] std::int64_t peak(std::size_t action) const noexcept {
    return stats_.nodes[rank(action)].median_peak_mem_bytes;
  }
  [[nodiscard]] bool has_leaves() const noexcept { return first_ > 0; }
  /// For each operation v: bytes of the parameters whose adjoints are first made by the adjoint of v.
  [[nodiscard]] std::vector<std::int64_t> leaf_adjoints() const {
    std::vector<std::int64_t> made(count_, 0);
    auto const last = last_readers(reads_, first_, count_);
    for (std::size_t leaf = 0; leaf < first_; ++leaf)
      if (stats_.nodes[leaf].type == node_type::param && last[leaf] < count_) made[last[leaf]] += leaf_bytes(leaf);
    return made;
  }
  [[nodiscard]] std::int64_t leaf_bytes(std::size_t leaf) const noexcept {
    return stats_.nodes[leaf].median_peak_mem_bytes - stats_.nodes[leaf].median_active_mem_bytes;
  }
  /// Bytes that remain after the last adjoint besides the adjoints of parameters: the adjoint of the first state of a
  /// chain.
  [[nodiscard]] std::int64_t left() const {
    std::int64_t bytes = active(2 * count_ + 1) - active(0);
    for (std::int64_t const one : leaf_adjoints()) bytes -= one;
    return bytes;
  }

  /// The whole graph.
  [[nodiscard]] operation_graph graph() const {
    operation_graph made = graph_;
    graph_reads const structure{graph_, who_};
    std::size_t const n = count_;
    std::vector<std::vector<std::size_t>> freed(2 * n + 1);  // values by the last action that reads them
    for (std::size_t v = 0; v < n; ++v) {
      std::size_t last = structure.last_reader[v];
      for (std::size_t w = 0; w <= n; ++w)
        if (std::find(structure.needs[w].begin(), structure.needs[w].end(), v) != structure.needs[w].end())
          last = (std::max)(last, 2 * n - w);
      freed[last].push_back(v);
    }
    auto const bytes_freed = [&](std::size_t action) {
      std::int64_t sum = 0;
      for (std::size_t const v : freed[action]) sum += made.operations[v].bytes;
      return sum;
    };
    for (std::size_t v = 0; v < n; ++v) {
      auto& of = made.operations[v];
      of.bytes = needed(v, active(v + 1) - active(v) - of.tape_bytes + bytes_freed(v));
      of.work = (std::max)(peak(v) - active(v) - of.bytes - of.tape_bytes, std::int64_t{0});
      if (auto const known = sizes_.find(names_[v]); known != sizes_.end() && known->second != of.bytes)
        refuse("the bytes of an activation do not match the nodes", v);
    }
    auto const leaf_made = leaf_adjoints();
    std::vector<std::int64_t> begun(n + 1, 0);  // bytes of the adjoints that each adjoint is the first to add to
    for (std::size_t v = 0; v < n; ++v) {
      auto& of = made.operations[v];
      begun[v] += leaf_made[v] + (v == 0 ? left() : 0);
      std::int64_t const change = active(2 * n - v + 1) - active(2 * n - v) + of.tape_bytes + bytes_freed(2 * n - v);
      of.adjoint_bytes = needed(2 * n - v, begun[v] - change);
      of.adjoint_work = (std::max)(peak(2 * n - v) - active(2 * n - v) - begun[v], std::int64_t{0});
      begun[structure.last_reader[v]] += of.adjoint_bytes;
    }
    made.loss_work = (std::max)(peak(n) - active(n) - begun[n], std::int64_t{0});
    check_graph(made, who_);
    return made;
  }

  [[noreturn]] void refuse(char const* problem, std::size_t action) const {
    throw parse_error{who_, problem, {{"rank", rank(action)}}, "give the nodes of a whole sweep as they were written"};
  }

 private:
  void check_sums() const {
    wide bytes = 0;
    double seconds = 0;
    for (auto const& node : stats_.nodes) {
      bytes += wide(node.median_peak_mem_bytes) + wide(node.median_active_mem_bytes);
      seconds += node.median_run_time_s;
    }
    for (auto const& row : stats_.activations) bytes += wide(row.median_mem_size_bytes);
    if (bytes > most_profiled) refuse_profile_sums(who_, bytes);
    if (!(seconds < 1e9)) refuse_profile_sums(who_, most_profiled);
  }
  void find_parts() {
    auto const& nodes = stats_.nodes;
    std::size_t at = 0;
    auto const in = [&](graph_type part) { return at < nodes.size() && nodes[at].gtype == part; };
    for (std::size_t k = 0; k < nodes.size(); ++k)
      if (nodes[k].rank != step_index(k)) refuse("the ranks of a profile are not 0, 1, 2 and so on", k);
    while (in(graph_type::other) && !call_in(nodes[at].node_name).is_call) ++at;
    first_ = at;
    while (in(graph_type::forward)) ++at;
    count_ = at - first_;
    bool const has_loss = in(graph_type::other) && call_in(nodes[at].node_name).name == loss_name;
    if (has_loss) ++at;
    std::size_t adjoints = 0;
    for (; in(graph_type::backward); ++at) ++adjoints;
    if (!has_loss || adjoints != count_ || !in(graph_type::other))
      refuse("a profile is not that of a sweep over a graph", at - first_);
  }
  void read_operations() {
    std::map<std::string, std::size_t, std::less<>> leaves, made;
    for (std::size_t k = 0; k < first_; ++k) leaves[stats_.nodes[k].node_name] = k;
    reads_.resize(count_);
    for (std::size_t v = 0; v < count_; ++v) {
      node_call const call = call_in(stats_.nodes[rank(v)].node_name);
      if (!call.is_call) refuse("a run does not say what it reads", v);
      graph_operation next;
      for (auto const& read : call.reads)
        if (auto const value = made.find(read); value != made.end()) next.inputs.push_back(step_index(value->second));
        else if (auto const leaf = leaves.find(read); leaf != leaves.end()) reads_[v].push_back(leaf->second);
        else refuse("a node reads what no node before it makes", v);
      next.time = nanoseconds_of(stats_.nodes[rank(v)].median_run_time_s);
      graph_.operations.push_back(std::move(next));
      made[call.name] = v;
      names_.push_back(call.name);
    }
    if (made.size() != count_) refuse("two runs have the same name", 0);
    made_ = std::move(made);
  }
  void read_loss() {
    for (auto const& read : call_in(stats_.nodes[rank(count_)].node_name).reads) {
      auto const value = made_.find(read);
      if (value == made_.end()) refuse("a node reads what no node before it makes", count_);
      graph_.outputs.push_back(step_index(value->second));
    }
    graph_.loss_time = nanoseconds_of(stats_.nodes[rank(count_)].median_run_time_s);
  }
  void read_adjoints() {
    for (std::size_t v = 0; v < count_; ++v) {
      auto const& row = stats_.nodes[rank(2 * count_ - v)];
      node_call const call = call_in(row.node_name);
      if (!call.is_call || call.name != names_[v] + std::string{adjoint_ending})
        refuse("an adjoint is not that of the run in its place", 2 * count_ - v);
      graph_operation& of = graph_.operations[v];
      of.adjoint_needs_inputs = of.adjoint_needs_output = false;
      of.adjoint_time = nanoseconds_of(row.median_run_time_s);
      std::vector<bool> some(of.inputs.size(), false);
      bool reads_some = false;
      for (auto const& word : call.reads)
        if (word == "inputs") of.adjoint_needs_inputs = true;
        else if (std::size_t const place = place_in(word, of.inputs.size()); place < of.inputs.size())
          reads_some = some[place] = true;
        else if (word == "output") of.adjoint_needs_output = true;
        else if (auto const tape = sizes_.find(names_[v] + std::string{tape_ending});
                 word == "tape" && tape != sizes_.end())
          of.tape_bytes = tape->second;
        else refuse("an adjoint reads what its run does not leave", 2 * count_ - v);
      if (reads_some) of.adjoint_needs_inputs = needed_inputs{std::move(some)};
    }
  }
  /// The place of an input that a word names, `input_2`; `inputs` if it names none.
  [[nodiscard]] static std::size_t place_in(std::string_view word, std::size_t inputs) {
    for (std::size_t place = 0; place < inputs; ++place)
      if (word == std::string{input_word} + std::to_string(place)) return place;
    return inputs;
  }
  [[nodiscard]] std::int64_t needed(std::size_t action, std::int64_t bytes) const {
    if (bytes < 0) refuse("the bytes of the nodes do not follow from one another", action);
    return bytes;
  }

  profile_stats const& stats_;
  char const* who_;
  std::size_t first_ = 0, count_ = 0;
  operation_graph graph_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::size_t>> reads_;
  std::map<std::string, std::size_t, std::less<>> made_;
  std::map<std::string, std::int64_t, std::less<>> sizes_;
};

}  // namespace detail

CAIRN_DECL profile_stats profile_of(profiled_graph const& measured, std::span<step_index const> evicted) {
  constexpr char const* who = "cairn::profile_of";
  operation_graph const& graph = measured.graph;
  detail::graph_model const model{graph, who};
  std::size_t const n = model.count;
  auto const names = detail::names_of(measured, who);
  profile_stats stats;
  auto const add = [&](std::string name, node_type type, graph_type part, std::int64_t time, std::int64_t peak,
                       std::int64_t active) {
    stats.nodes.push_back({step_index(stats.nodes.size()), std::move(name), type, part, detail::as_seconds(time), peak,
                           active, measured.device});
  };
  std::int64_t standing = 0;
  for (auto const& leaf : measured.leaves) {
    add(leaf.name, leaf.type, graph_type::other, 0, standing + leaf.bytes, standing);
    standing += leaf.bytes;
  }
  auto const last = detail::last_readers(measured.reads, measured.leaves.size(), n);
  stats.activations = detail::activations_of(graph, names, evicted, step_index(measured.leaves.size()));
  std::vector<char> is_activation(n, 0);
  for (auto const& row : stats.activations)
    is_activation[std::size_t(row.creation_rank) - measured.leaves.size()] = 1;

  detail::run_measure measure{model};
  auto const actions = measure.with_drops(detail::store_all_runs(model));
  detail::graph_interpreter interpreter{model, actions, who};
  std::size_t remaining = n + 1;
  for (action const& a : actions) {
    std::int64_t const active = standing + interpreter.kept() + model.open[remaining];
    interpreter.obey(a);
    std::size_t const v = std::size_t(a.from);
    if (a.kind == action_kind::drop) continue;
    if (a.kind == action_kind::advance || a.kind == action_kind::record) {
      std::vector<std::string> reads;
      for (step_index const input : graph.operations[v].inputs) reads.push_back(names[std::size_t(input)]);
      if (v < measured.reads.size())
        for (std::size_t const leaf : measured.reads[v]) reads.push_back(measured.leaves[leaf].name);
      add(detail::text_of(names[v], reads), is_activation[v] != 0 ? node_type::act : node_type::other,
          graph_type::forward, model.time[v], standing + interpreter.bytes_at_last_run(), active);
    } else if (a.kind == action_kind::turn) {
      std::vector<std::string> reads;
      for (step_index const output : graph.outputs) reads.push_back(names[std::size_t(output)]);
      add(detail::text_of(detail::loss_name, reads), node_type::other, graph_type::other, model.adjoint_time[n],
          standing + interpreter.bytes_at_last_run(), active);
      remaining = n;
    } else {
      for (std::size_t leaf = 0; leaf < last.size(); ++leaf)
        if (last[leaf] == v && measured.leaves[leaf].type == node_type::param) standing += measured.leaves[leaf].bytes;
      auto const words = detail::reads_of_adjoint(graph.operations[v]);
      add(detail::text_of(names[v] + std::string{detail::adjoint_ending}, words), node_type::grad,
          graph_type::backward, model.adjoint_time[v], standing + interpreter.bytes_at_last_run(), active);
      remaining = v;
    }
  }
  for (auto const& update : measured.updates)
    add(update.name, node_type::opt_state, graph_type::other, update.time, standing + update.work, standing);
  add(std::string{detail::output_name}, node_type::other, graph_type::other, 0, standing, standing);
  return stats;
}

CAIRN_DECL profile_stats profile_of(chain const& measured, std::span<step_index const> evicted) {
  constexpr char const* who = "cairn::profile_of";
  detail::chain_model const c{measured, who};
  std::size_t const stages = std::size_t(c.stages);
  operation_graph const graph = detail::graph_of_chain(c);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < stages; ++i) names.push_back("stage_" + std::to_string(i));
  profile_stats stats;
  stats.activations = detail::activations_of(graph, names, evicted, 0);
  std::int64_t live = c.x[0];
  auto const add = [&](std::string name, node_type type, graph_type part, std::int64_t time, std::int64_t more) {
    stats.nodes.push_back({step_index(stats.nodes.size()), std::move(name), type, part, detail::as_seconds(time),
                           live + more, live, "cpu"});
  };
  for (std::size_t i = 0; i < stages; ++i) {
    std::vector<std::string> reads;
    if (i > 0) reads.push_back(names[i - 1]);
    add(detail::text_of(names[i], reads), node_type::act, graph_type::forward, c.u[i], c.s[i] + c.f[i]);
    live += c.s[i];
  }
  add(detail::text_of(detail::loss_name, {}), node_type::other, graph_type::other, c.v[stages], c.b[stages]);
  live += c.g[stages];
  for (std::size_t i = stages; i-- > 0;) {
    auto const words = detail::reads_of_adjoint(graph.operations[i]);
    add(detail::text_of(names[i] + std::string{detail::adjoint_ending}, words), node_type::grad, graph_type::backward,
        c.v[i], c.b[i]);
    live += c.g[i] - c.s[i] - c.g[i + 1];
  }
  add(std::string{detail::output_name}, node_type::other, graph_type::other, 0, 0);
  return stats;
}

CAIRN_DECL operation_graph graph_of(profile_stats const& stats) {
  return detail::profile_reader{stats, "cairn::graph_of"}.graph();
}

CAIRN_DECL chain chain_of(profile_stats const& stats) {
  detail::profile_reader const read{stats, "cairn::chain_of"};
  operation_graph const& graph = read.structure();
  std::size_t const n = read.size();
  chain c;
  c.x = {read.active(0)};
  for (std::size_t i = 0; i < n; ++i) {
    auto const& of = graph.operations[i];
    bool const follows = i == 0 ? of.inputs.empty() : of.inputs == std::vector<step_index>{step_index(i) - 1};
    if (!follows || read.has_leaves() || !graph.outputs.empty() || !of.adjoint_needs_output ||
        of.adjoint_needs_inputs != graph.operations[0].adjoint_needs_inputs)
      read.refuse("a profile is not that of a chain", i);
    c.s.push_back(read.active(i + 1) - read.active(i));
    c.x.push_back(c.s[i] - of.tape_bytes);
    c.f.push_back(read.peak(i) - read.active(i) - c.s[i]);
    c.u.push_back(of.time);
  }
  c.self_contained_tape = n > 0 && !graph.operations[0].adjoint_needs_inputs[0];
  c.g.resize(n + 1), c.b.resize(n + 1), c.v.resize(n + 1);
  for (std::size_t i = n + 1; i-- > 0;) {  // n is the loss
    std::size_t const action = 2 * n - i;
    c.g[i] = read.active(action + 1) - read.active(action) + (i < n ? c.s[i] + c.g[i + 1] : 0);
    c.b[i] = read.peak(action) - read.active(action);
    c.v[i] = i < n ? graph.operations[i].adjoint_time : graph.loss_time;
  }
  for (auto const* const list : {&c.x, &c.g, &c.s, &c.f, &c.b})
    for (std::int64_t const bytes : *list)
      if (bytes < 0) read.refuse("the bytes of the nodes do not follow from one another", 0);
  return c;
}

CAIRN_DECL peak_breakdown breakdown_of(profile_stats const& stats) {
  detail::profile_reader const read{stats, "cairn::breakdown_of"};
  peak_breakdown found;
  for (auto const& node : stats.nodes)
    if (node.median_peak_mem_bytes > found.peak) found.peak = node.median_peak_mem_bytes, found.rank = node.rank;
  auto& [params, acts, grads, states, others] = found.bytes;
  std::size_t const first = read.rank(0), n = read.size();
  for (std::size_t leaf = 0; leaf < first && step_index(leaf) <= found.rank; ++leaf) {
    if (stats.nodes[leaf].type == node_type::param) params += read.leaf_bytes(leaf);
    if (stats.nodes[leaf].type == node_type::opt_state) states += read.leaf_bytes(leaf);
  }
  for (auto const& row : stats.activations)
    if (row.creation_rank <= found.rank && found.rank <= row.last_bw_use_rank) acts += row.median_mem_size_bytes;
  if (found.rank > step_index(first + n)) {  // adjoints that exist or are made while the adjoint of an operation runs
    operation_graph const graph = read.graph();
    detail::graph_model const model{graph, "cairn::breakdown_of"};
    auto const leaf_made = read.leaf_adjoints();
    std::size_t const at = std::size_t(found.rank) - first, v = at <= 2 * n ? 2 * n - at : 0;
    if (at <= 2 * n) grads = model.open[v] + model.adjoint[v];
    for (std::size_t w = v; w < n; ++w) grads += leaf_made[w];
    if (v == 0) grads += read.left();
  } else if (found.rank == step_index(first + n)) {
    detail::graph_model const model{read.graph(), "cairn::breakdown_of"};
    grads = model.open[n];
  }
  others = found.peak - params - acts - grads - states;
  return found;
}

}  // namespace cairn
