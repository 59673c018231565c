// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file loop_plan.hpp  Chooses how many states a loop keeps and how many steps it differentiates together.
#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/wide.hpp>
#include <cairn/rules/detail/most_within.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/detail/leaves_in.hpp>

namespace cairn::libtorch {

/// Sizes and times of a loop over tensors, measured by `estimate` or known.
struct loop_costs {
  step_index steps = 0;  ///< T, >= 0
  wide state_bytes = 0;  ///< of one state
  wide generator_bytes = 0;  ///< generator states, and buffers that steps change, kept with each state
  wide step_bytes = 0;  ///< the most that a step takes at once in the forward sweep, its result included
  /// The most that differentiating one step takes at once: its tape and its temporary memory.
  wide block_bytes = 0;
  wide pair_bytes = 0;  ///< the same for two steps together
  wide tape_bytes = 0;  ///< added for each further step
  wide third_bytes = 0;     ///< added once for more than two steps: if LibTorch makes a new sum for the gradients of a
                            ///< cast, two of them exist besides their sum
  wide gradient_bytes = 0;  ///< the gradients of captured tensors, which the caller receives
  wide probe_bytes = 0;  ///< the least limit with which these numbers can be measured
  wide other_bytes = 0;  ///< what backward holds in any case: the last state and its adjoint, buffers
  double step_seconds = 1;  ///< a step without a tape, >= 0
  double vjp_seconds = 0;  ///< a step with its tape, and its adjoint, >= 0
  double call_seconds = 0;  ///< what a block takes in addition to its steps, >= 0
};

namespace detail {

/// Numbers, and the modules whose addresses are among them.
class plan_key {
 public:
  /// Whether no other step has this key. Objects with captures, and functions, share the key of their class.
  bool is_known = false;

  /// Whether a module was destroyed, so that its address may belong to another one.
  [[nodiscard]] bool expired() const {
    return std::any_of(modules_.begin(), modules_.end(), [](auto const& one) { return one.expired(); });
  }
  [[nodiscard]] bool operator==(plan_key const& other) const { return numbers_ == other.numbers_; }
  template <class... Values>
  void add(Values const&... values) { (numbers_.push_back(std::int64_t(values)), ...); }
  template <class Type>
  void add_type() { add(reinterpret_cast<std::intptr_t>(&typeid(Type))); }
  void add_size() { add(numbers_.size()); }
  /// A module with all its children, modes and parameters.
  void add_whole(torch::nn::Module const& module) {
    auto const add_one = [&](torch::nn::Module const& one, std::weak_ptr<torch::nn::Module> is) {
      add(reinterpret_cast<std::intptr_t>(&one), one.children().size(), one.is_training());
      modules_.push_back(std::move(is));
    };
    add_one(module, std::const_pointer_cast<torch::nn::Module>(module.weak_from_this().lock()));
    for (auto const& one : module.modules(false)) add_one(*one, one);
    for (auto const& one : module.parameters()) {
      add(reinterpret_cast<std::intptr_t>(one.unsafeGetTensorImpl()));
      add_metadata(one);
    }
  }
  /// Tensors with their layouts in memory, and which of them share memory.
  void add_tensors(at::TensorList tensors) {
    std::unordered_map<void const*, std::size_t> storages;
    add(tensors.size());
    for (auto const& t : tensors) {
      add(t.defined());
      if (!t.defined()) continue;
      add_metadata(t);
      add(t.layout(), t.key_set().raw_repr());
      if (!t.has_storage()) continue;
      for (auto const stride : t.strides()) add(stride);
      add(t.storage().nbytes(), storages.emplace(t.storage().unsafeGetStorageImpl(), storages.size()).first->second);
    }
  }

 private:
  /// Sizes, type, device, and whether a gradient is required.
  void add_metadata(at::Tensor const& t) {
    add(t.dim(), t.scalar_type(), t.device().type(), t.device().index(), t.requires_grad());
    for (auto const size : t.sizes()) add(size);
  }

  std::vector<std::int64_t> numbers_;
  std::vector<std::weak_ptr<torch::nn::Module>> modules_;
};

/// The key of a step; one of cairn's own makes it itself.
template <class Step>
[[nodiscard]] plan_key identity_of(Step const& step) {
  plan_key found;
  if constexpr (requires { { step.identity() } -> std::convertible_to<plan_key>; }) found = step.identity();
  found.add_type<Step>();
  if constexpr (torch::detail::is_module_holder<Step>::value) {
    if (step.is_empty()) return found;
    found.add_whole(*step);
    found.is_known = true;
  }
  return found;
}

}  // namespace detail

/// What loops with a memory limit have measured of their steps. Each plan is for a number of steps, a limit, options,
/// automatic casts, and tensors (sizes, strides, type, device, shared memory, whether a gradient is required) of the
/// initial state, inputs and named captures; for the class of the step; and, if the step is a module, for that module,
/// its parameters and modes. Objects of one class, such as two `std::function`, count as one step: give each step a
/// `LoopPlans` of its own. Refers to modules weakly; the plan of a destroyed module is dropped. If there are too many
/// plans, the least recently used is dropped. Can be used by several threads.
class LoopPlans {
 public:
  /// \param most  most plans to keep, >= 1   \throws invalid_call   for less
  explicit LoopPlans(std::int64_t most = 16) : most_{most} {
    if (most < 1)
      throw invalid_call{"cairn::libtorch::LoopPlans", "it must be able to keep a plan", {{"most", most}},
                         "give one or more"};
  }
  LoopPlans(LoopPlans const&) = delete;
  LoopPlans& operator=(LoopPlans const&) = delete;

  /// How often steps were measured and a plan was made, including plans that were dropped.
  [[nodiscard]] std::int64_t made() const {
    std::lock_guard const lock{access_};
    return made_;
  }
  /// Number of plans it holds.
  [[nodiscard]] std::int64_t size() const {
    std::lock_guard const lock{access_};
    return std::int64_t(plans_.size());
  }
  /// Drops all plans: the next call measures again.
  void clear() {
    std::lock_guard const lock{access_};
    plans_.clear();
  }
  /// For loops: what was measured, if anything was.
  [[nodiscard]] std::optional<loop_costs> find(detail::plan_key const& key) {
    std::lock_guard const lock{access_};
    plans_.remove_if([](auto const& one) { return one.first.expired(); });
    auto const found = std::find_if(plans_.begin(), plans_.end(), [&](auto const& one) { return one.first == key; });
    if (found == plans_.end()) return {};
    plans_.splice(plans_.begin(), plans_, found);
    return found->second;
  }
  /// For loops: keeps what was measured.
  void keep(detail::plan_key key, loop_costs const& costs) {
    std::lock_guard const lock{access_};
    plans_.remove_if([&](auto const& one) { return one.first == key; });  // made by another thread
    plans_.emplace_front(std::move(key), costs);
    if (plans_.size() > std::size_t(most_)) plans_.pop_back();
    ++made_;
  }

 private:
  std::int64_t most_;
  mutable std::mutex access_;
  std::list<std::pair<detail::plan_key, loop_costs>> plans_;  ///< most recently used first
  std::int64_t made_ = 0;
};

/// A choice for running a loop within a limit.
struct loop_choice {
  slot_index checkpoints = 1;  ///< states kept at once
  step_index block_size = 1;  ///< steps differentiated together
  /// The peak in total: states, including those in use and the initial one, the tapes of a block, and the rest.
  wide peak_bytes = 0;
  double seconds = 0;  ///< of forward and backward together
};

namespace detail {

[[nodiscard]] constexpr step_index whole_square_root(step_index n) noexcept {
  step_index root = 0;
  while ((root + 1) <= n / (root + 1)) ++root;
  return root;
}

/// The most that a block of `size` steps takes while it is differentiated.
[[nodiscard]] constexpr wide bytes_of_block(loop_costs const& costs, step_index size) noexcept {
  if (size < 2) return costs.block_bytes;
  return costs.pair_bytes + wide(size - 2) * costs.tape_bytes + (size > 2 ? costs.third_bytes : 0);
}
/// The peak of a loop by a `revolve` over its blocks, at which all slots are full and there is a live state.
[[nodiscard]] constexpr wide bytes_of_loop(loop_costs const& costs, step_index size, slot_index slots) noexcept {
  step_index const blocks = cairn::detail::leaves_in(costs.steps, size);
  wide const kept = wide(slots) * costs.generator_bytes;
  wide const states = wide(slots < blocks ? slots + 1 : blocks);
  wide const backward =
      costs.other_bytes + costs.gradient_bytes + bytes_of_block(costs, size) + states * costs.state_bytes + kept;
  wide const forward = costs.step_bytes + (states + 1) * costs.state_bytes + kept;
  return forward < backward ? backward : forward;
}
/// The seconds of a loop by a `revolve` over its blocks: forward, and recomputation from checkpoints. The turn runs the
/// last block, every other advance a whole one.
[[nodiscard]] constexpr double seconds_of_loop(loop_costs const& costs, step_index size, slot_index slots) noexcept {
  step_index const blocks = cairn::detail::leaves_in(costs.steps, size), useful = useful_slots(blocks);
  double const runs = double(fewest_advances(blocks, slots < useful ? slots : useful)) * double(size) +
                      double(costs.steps - (blocks - 1) * size);
  return runs * costs.step_seconds + double(costs.steps) * costs.vjp_seconds + double(blocks) * costs.call_seconds;
}
/// The cheapest choice with blocks of `size` steps; none if even one slot is too much.
[[nodiscard]] constexpr std::optional<loop_choice> with_blocks_of(step_index size, loop_costs const& costs,
                                                                  wide limit) noexcept {
  step_index const blocks = cairn::detail::leaves_in(costs.steps, size);
  slot_fit const found = cairn::detail::most_within(
      limit, 1, useful_slots(blocks), [&](slot_index slots) { return bytes_of_loop(costs, size, slots); });
  if (!found.fits) return {};
  return loop_choice{found.slots, size, found.bytes, seconds_of_loop(costs, size, found.slots)};
}
/// Calls `visit` with each useful block size, the least for its number of blocks, from 1 to all steps.
template <class Visit>
constexpr void each_block_size(step_index steps, Visit visit) {
  for (step_index size = 1;;) {
    visit(size);
    step_index const blocks = cairn::detail::leaves_in(steps, size);
    if (blocks < 2) return;
    size = cairn::detail::leaves_in(steps, blocks - 1);
  }
}

}  // namespace detail

/// The least bytes with which a loop of one step or more can be measured and run.   Cost: O(sqrt T)
[[nodiscard]] constexpr wide least_bytes(loop_costs const& costs) noexcept {
  wide least = detail::bytes_of_loop(costs, 1, 1);
  if (costs.steps > 1)
    detail::each_block_size(costs.steps, [&](step_index size) {
      if (wide const bytes = detail::bytes_of_loop(costs, size, 1); bytes < least) least = bytes;
    });
  return least < costs.probe_bytes ? costs.probe_bytes : least;
}
/// The fastest (checkpoints, block size) that fits a limit; of equally fast ones the smallest.
/// \throws infeasible_budget  if no plan fits; the values name the least feasible limit
/// Cost: O(sqrt T) candidates, O(log T) each.
[[nodiscard]] constexpr loop_choice choose_loop(loop_costs const& costs, wide limit) {
  if (costs.steps < 1) return {1, 1, costs.state_bytes, 0};
  std::optional<loop_choice> best;
  detail::each_block_size(costs.steps, [&](step_index size) {
    auto const found = detail::with_blocks_of(size, costs, limit);
    if (found && (!best || found->seconds < best->seconds ||
                  (found->seconds == best->seconds && found->peak_bytes < best->peak_bytes)))
      best = found;
  });
  if (!best)
    throw infeasible_budget{"cairn::libtorch::choose_loop",
                            "the limit is below what any plan takes",
                            {{"bytes", limit}, {"least bytes", least_bytes(costs)}},
                            "allow that much, or make the state or the step smaller"};
  return *best;
}

namespace detail {

/// A plan for a loop of unknown length: an `online` plan over blocks of steps.
struct while_plan {
  slot_index checkpoints = 32;  ///< enough for 6,545 blocks with three runs of each
  step_index block_size = 1;
};

/// The peak of a loop of unknown length. In the forward half each block runs ahead of its first state, which is kept
/// only when it is known that the loop continues. At the peak all slots are full.
[[nodiscard]] constexpr wide bytes_of_while(loop_costs const& costs, while_plan const& plan) noexcept {
  wide const slots = wide(plan.checkpoints) * (costs.state_bytes + costs.generator_bytes);
  wide const live = plan.block_size > 1 ? 2 : 1;  // the first state of the block, and the first state of the step
  wide const forward =
      live * costs.state_bytes + 2 * costs.generator_bytes + (std::max)(costs.step_bytes, costs.generator_bytes);
  wide const backward =
      costs.state_bytes + bytes_of_block(costs, plan.block_size) + costs.gradient_bytes + costs.other_bytes;
  return slots + (std::max)(forward, backward);
}
/// Calls `visit` with plans that fit a limit: block sizes from 1 to 1,024, each with the most checkpoints that fit, up
/// to 4,096. The largest plan runs no step twice in loops of 3.7 million steps; beyond it, tables and graphs that no
/// limit counts become significant.
template <class Visit>
constexpr void each_while_plan(loop_costs const& costs, wide limit, Visit visit) {
  constexpr slot_index most_checkpoints = 4096;
  constexpr step_index most_steps = 1024;
  for (step_index size = 1; size <= most_steps; size += 1 + size / 8) {
    wide const least = bytes_of_while(costs, {1, size});
    if (least > limit) return;
    wide const slot = costs.state_bytes + costs.generator_bytes;
    wide const more = slot > 0 ? (limit - least) / slot : wide(most_checkpoints);
    visit(while_plan{more < wide(most_checkpoints) ? 1 + slot_index(more) : most_checkpoints, size});
  }
}
/// The plan within a limit that suits any length. For loops of 10, 100 ... 1,000,000 steps, each plan is compared with
/// the best plan for that length, and its largest slow-down counts; the plan with the smallest is taken. The best plans
/// for different lengths differ little: if a tape is at least as large as a state, this plan takes 1.006 times the time
/// of `choose_loop` for a known length on average, and 1.55 times at worst, with five slots for ten steps.
/// \pre bytes_of_while(costs, {1, 1}) <= limit   Cost: some hundred evaluations of closed forms.
[[nodiscard]] constexpr while_plan choose_while(loop_costs costs, wide limit) {
  constexpr std::array<step_index, 6> lengths{10, 100, 1000, 10'000, 100'000, 1'000'000};
  auto const seconds = [&](while_plan const& plan, step_index steps) {
    costs.steps = steps;
    return seconds_of_loop(costs, plan.block_size, plan.checkpoints);
  };
  std::array<double, lengths.size()> best{};
  best.fill(std::numeric_limits<double>::infinity());
  each_while_plan(costs, limit, [&](while_plan const& plan) {
    for (std::size_t k = 0; k < best.size(); ++k) best[k] = (std::min)(best[k], seconds(plan, lengths[k]));
  });
  while_plan chosen{1, 1};
  double least = std::numeric_limits<double>::infinity();
  each_while_plan(costs, limit, [&](while_plan const& plan) {
    double worst = 1;
    for (std::size_t k = 0; k < best.size(); ++k)
      if (double const took = seconds(plan, lengths[k]); took > best[k]) worst = (std::max)(worst, took / best[k]);
    if (worst < least) {
      least = worst;
      chosen = plan;
    }
  });
  return chosen;
}

}  // namespace detail

}  // namespace cairn::libtorch
