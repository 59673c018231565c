// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file remake_cut.hpp  Chooses what to keep at one moment of a sweep and what to make again later, at a price per
/// byte.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>
#include <cairn/plan/graph/detail/graph_model.hpp>
#include <cairn/plan/graph/detail/run_order.hpp>

namespace cairn::detail {

/// Dinic's method (1970) with real capacities. Apart from rounding, the result is never above the true maximum.
class max_flow {
 public:
  static constexpr double endless = std::numeric_limits<double>::infinity();

  explicit max_flow(std::size_t nodes) : first_(nodes, none), level_(nodes), next_(nodes) {}

  /// Adds an edge; returns its number.
  std::size_t connect(std::size_t from, std::size_t to, double capacity) {
    edges_.push_back({to, first_[from], capacity});
    first_[from] = edges_.size() - 1;
    edges_.push_back({from, first_[to], 0});
    first_[to] = edges_.size() - 1;
    return edges_.size() - 2;
  }
  /// Changes the capacity of an edge; `flow` must be called again.
  void set(std::size_t number, double capacity) noexcept {
    edges_[number].left = capacity;
    edges_[number + 1].left = 0;
  }
  /// The maximum flow from `from` to `to`. Begins with the residual capacities that `connect` and `set` have left.
  [[nodiscard]] double flow(std::size_t from, std::size_t to) {
    double sum = 0, most = 0;
    for (auto const& e : edges_)
      if (e.left < endless) most = (std::max)(most, e.left);
    least_ = most * 1e-12;
    while (layer(from, to)) {
      next_ = first_;
      for (double more = push(from, to, endless); more > 0; more = push(from, to, endless)) sum += more;
    }
    return sum;
  }
  /// Whether a node is on the side of `from` in the minimum cut of the last flow that is nearest to `from`.
  [[nodiscard]] bool is_before_cut(std::size_t node) const noexcept { return level_[node] != none; }

 private:
  static constexpr std::size_t none = std::size_t(-1);
  struct edge {
    std::size_t to, next;
    double left;
  };

  bool layer(std::size_t from, std::size_t to) {
    std::fill(level_.begin(), level_.end(), none);
    queue_.assign(1, from);
    level_[from] = 0;
    for (std::size_t k = 0; k < queue_.size(); ++k)
      for (std::size_t e = first_[queue_[k]]; e != none; e = edges_[e].next)
        if (edges_[e].left > least_ && level_[edges_[e].to] == none) {
          level_[edges_[e].to] = level_[queue_[k]] + 1;
          queue_.push_back(edges_[e].to);
        }
    return level_[to] != none;
  }
  double push(std::size_t node, std::size_t to, double most) {
    if (node == to) return most;
    double sum = 0;
    for (std::size_t& e = next_[node]; e != none; e = edges_[e].next) {
      edge& way = edges_[e];
      if (way.left <= least_ || level_[way.to] != level_[node] + 1) continue;
      double const done = push(way.to, to, (std::min)(most - sum, way.left));
      if (done <= 0) continue;
      way.left -= done;
      edges_[e ^ 1].left += done;
      sum += done;
      if (most - sum <= least_) return sum;
    }
    return sum;
  }

  std::vector<std::size_t> first_, level_, next_, queue_;
  std::vector<edge> edges_;
  double least_ = 0;
};

/// The values that exist at a moment and those that are read after it, by operation.
struct remake_moment {
  std::vector<char> is_free;   ///< values that stay in any case
  std::vector<char> is_there;  ///< values that may be kept
  std::vector<char> is_read;   ///< values that must be kept or made again; without the free ones
  std::vector<char> tape_is_read;  ///< operations whose tape exists and must be kept or made again

  explicit remake_moment(std::size_t operations)
      : is_free(operations), is_there(operations), is_read(operations), tape_is_read(operations) {}
  /// The moment before the adjoint of `from`, in a sweep in which every operation has run. The values read are those of
  /// the adjoints from-1..to.
  remake_moment(graph_model const& model, std::size_t from, std::size_t to) : remake_moment{from} {
    is_there.assign(from, 1);
    for (std::size_t const v : model.needs[from])
      if (v < from) is_free[v] = 1;
    for (std::size_t a = to; a < from; ++a) {
      tape_is_read[a] = model.tape[a] > 0;
      for (std::size_t const v : model.needs[a]) is_read[v] = !is_free[v];
    }
  }
};

/// The cheapest choice of what to keep at a moment and what to make again later, from inputs that are kept or made
/// again, too. With a price per kept byte the cheapest choice is a minimum cut of a network in which each value v has
/// two nodes: one says whether v is there, one whether operation v runs again. A value that is there and not run again
/// is kept, at the price of its bytes. An operation that runs again costs its time, needs its inputs to be there, and
/// makes its tape.
class remake_cut {
 public:
  /// \param model  must outlive this object
  remake_cut(graph_model const& model, remake_moment const& at)
      : model_{model}, count_{at.is_free.size()}, is_read_{at.is_read}, matters_(count_), chosen_(count_),
        keep_(count_, none), tape_(count_, none), run_(count_, none), net_{2 * count_ + 2} {
    for (std::size_t v = count_; v-- > 0;) {
      if (at.is_read[v]) endless_.push_back(net_.connect(source(), there(v), max_flow::endless));
      if (at.is_read[v] || at.tape_is_read[v]) matters_[v] = 1;
      if (!matters_[v]) continue;
      all_time_ += double(model.time[v]);
      if (at.is_read[v]) all_bytes_ += double(model.bytes[v]);
      if (at.tape_is_read[v]) all_bytes_ += double(model.tape[v]), tape_[v] = net_.connect(source(), runs(v), 0);
      if (at.is_there[v] && !at.is_free[v]) keep_[v] = net_.connect(there(v), runs(v), 0);
      else if (!at.is_free[v]) endless_.push_back(net_.connect(there(v), runs(v), max_flow::endless));
      run_[v] = net_.connect(runs(v), sink(), 0);
      for (std::size_t const input : model.inputs[v]) {
        if (at.is_free[input]) continue;
        matters_[input] = 1;
        endless_.push_back(net_.connect(runs(v), there(input), max_flow::endless));
      }
    }
  }

  /// A choice: the bytes kept, and the time of operations that run again.
  struct choice {
    double bytes = 0, time = 0;
  };

  /// A lower bound on the time of every choice that keeps at most `budget` bytes: the Lagrangian bound, by prices that
  /// approach the best one. `is_kept` and `is_run` then describe the cheapest choice seen that keeps at most `budget`
  /// bytes.   \pre budget >= 0
  [[nodiscard]] double least_time(double budget) {
    choice much{all_bytes_, 0}, little{0, all_time_};
    if (much.bytes <= budget) {
      std::fill(chosen_.begin(), chosen_.end(), char{0});
      for (std::size_t v = 0; v < count_; ++v) choose(v, is_read_[v], false);
      return 0;
    }
    for (std::size_t v = 0; v < count_; ++v) choose(v, false, true);
    double best = 0;
    for (int tries = 0; tries < most_tries && much.bytes > little.bytes; ++tries) {
      double const price = (little.time - much.time) / (much.bytes - little.bytes);
      choice const next = cheapest(price);
      double const line = much.time + price * (much.bytes - budget);
      double const value = least_ - price * budget - rounding * (least_ + price * budget);
      best = (std::max)(best, value);
      if (line - value <= 1e-7 * line) break;
      if (next.bytes > budget) {
        much = next;
      } else {
        little = next;
        for (std::size_t v = 0; v < count_; ++v)
          choose(v, net_.is_before_cut(there(v)) && !net_.is_before_cut(runs(v)), net_.is_before_cut(runs(v)));
      }
    }
    return best;
  }
  /// Whether the choice keeps a value. Free values, and values that nothing reads, are not kept by choice.
  [[nodiscard]] bool is_kept(std::size_t v) const noexcept { return chosen_[v] == kept; }
  /// Whether the choice runs an operation again.
  [[nodiscard]] bool is_run(std::size_t v) const noexcept { return chosen_[v] == run; }

 private:
  static constexpr int most_tries = 40;
  static constexpr double rounding = 1e-10;  ///< larger than the rounding error of a sum of flows, so that bounds hold
  static constexpr std::size_t none = std::size_t(-1);

  static constexpr char kept = 1, run = 2;

  void choose(std::size_t v, bool is_kept, bool is_run) noexcept {
    chosen_[v] = !matters_[v] ? char{0} : is_run ? run : is_kept && keep_[v] != none ? kept : char{0};
  }
  /// The cheapest choice at a price.
  choice cheapest(double price) {
    for (std::size_t const e : endless_) net_.set(e, max_flow::endless);
    for (std::size_t v = 0; v < count_; ++v) {
      if (!matters_[v]) continue;
      if (keep_[v] != none) net_.set(keep_[v], price * double(model_.bytes[v]));
      if (tape_[v] != none) net_.set(tape_[v], price * double(model_.tape[v]));
      net_.set(run_[v], double(model_.time[v]));
    }
    least_ = net_.flow(source(), sink());
    choice sum;
    for (std::size_t v = 0; v < count_; ++v) {
      if (!matters_[v]) continue;
      bool const is_run = net_.is_before_cut(runs(v));
      if (is_run) sum.time += double(model_.time[v]);
      else if (tape_[v] != none) sum.bytes += double(model_.tape[v]);
      if (keep_[v] != none && !is_run && net_.is_before_cut(there(v))) sum.bytes += double(model_.bytes[v]);
    }
    return sum;
  }
  [[nodiscard]] static std::size_t there(std::size_t v) noexcept { return 2 * v; }
  [[nodiscard]] static std::size_t runs(std::size_t v) noexcept { return 2 * v + 1; }
  [[nodiscard]] std::size_t source() const noexcept { return 2 * count_; }
  [[nodiscard]] std::size_t sink() const noexcept { return 2 * count_ + 1; }

  graph_model const& model_;
  std::size_t count_;
  std::vector<char> is_read_;
  std::vector<char> matters_;  ///< operations whose value or tape may be read
  std::vector<char> chosen_;
  std::vector<std::size_t> keep_, tape_, run_, endless_;  ///< edges
  max_flow net_;
  double all_bytes_ = 0, all_time_ = 0, least_ = 0;
};

/// The sweep that keeps the values of a choice at the loss, and makes everything else again right before it is read.
/// \param chosen  for the span from the loss to the end
[[nodiscard]] inline run_order runs_of(graph_model const& model, remake_cut const& chosen) {
  run_order runs;
  std::size_t const count = model.count;
  std::vector<char> there(count), taped(count);
  for (std::size_t v = 0; v < count; ++v) {
    runs.push_back(graph_actions::advance(step_index(v)));
    there[v] = chosen.is_kept(v), taped[v] = !chosen.is_run(v);
  }
  for (std::size_t const v : model.needs[count]) there[v] = 1;
  runs.push_back(graph_actions::turn(step_index(count)));
  std::vector<char> run(count);
  for (std::size_t a = count; a-- > 0;) {
    std::fill(run.begin(), run.end(), 0);
    for (std::size_t const v : model.needs[a]) run[v] = !there[v];
    if (model.tape[a] > 0 && !taped[a]) run[a] = 1;
    for (std::size_t v = a + 1; v-- > 0;)
      if (run[v])
        for (std::size_t const input : model.inputs[v]) run[input] = run[input] || !there[input];
    for (std::size_t v = 0; v <= a; ++v)
      if (run[v]) runs.push_back(graph_actions::advance(step_index(v))), there[v] = taped[v] = 1;
    runs.push_back(graph_actions::reverse(step_index(a)));
  }
  return runs;
}

}  // namespace cairn::detail
