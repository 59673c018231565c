// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file active_region.hpp  What a region keeps of its first run, and which region is running in this thread.
#include <any>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>
#include <cairn/adapt/torch/checkpoint/detail/checkpointed_input.hpp>
#include <cairn/adapt/torch/checkpoint/detail/dispatch_mode.hpp>
#include <cairn/adapt/torch/checkpoint/detail/saved_hooks.hpp>
#include <cairn/adapt/torch/state/detail/name_matches.hpp>
#include <cairn/adapt/torch/state/detail/read_tracker.hpp>
#include <cairn/adapt/torch/state/detail/rng_autocast.hpp>
#include <cairn/adapt/torch/state/detail/saved_origin.hpp>

namespace cairn::libtorch::detail {

/// The result of a part of a region that is not run again.
struct kept_result {
  std::any like;                   ///< has the result's type, with undefined tensors
  std::vector<checkpointed_input> parts;   ///< the tensors of the result
  generator_states generators;     ///< states after the part, if random numbers are to be the same
};

/// Names of parts that are kept; `*` matches any characters. Without a value all parts are kept.
using kept_names = std::optional<std::vector<std::string>>;

/// The innermost run of a region in this thread.
class active_region {
 public:
  /// \param again  whether this is a recomputation   \param rng  option of the region   \param names  must outlive the
  ///   object
  active_region(std::vector<kept_result>& kept, origin_map& origins, bool again, Rng rng, kept_names const& names)
      : kept_{&kept},
        origins_{&origins},
        again_{again},
        rng_{rng},
        names_{names},
        outer_{std::exchange(innermost(), this)},
        hooks_{hook_engine::factories().size()} {}
  active_region(active_region const&) = delete;
  active_region& operator=(active_region const&) = delete;
  ~active_region() { innermost() = outer_; }

  [[nodiscard]] static active_region*& innermost() {
    static thread_local active_region* now = nullptr;
    return now;
  }
  /// The result to be used instead of running the part, or null.
  [[nodiscard]] kept_result const* next() { return again_ && taken_ < kept_->size() ? &(*kept_)[taken_++] : nullptr; }
  [[nodiscard]] bool again() const noexcept { return again_; }
  /// Whether a part with this name is kept.
  [[nodiscard]] bool keeps(std::string_view name) const {
    if (!names_) return true;
    for (auto const& pattern : *names_) if (name_matches(pattern, name)) return true;
    return false;
  }
  [[nodiscard]] Rng rng() const noexcept { return rng_; }
  [[nodiscard]] std::vector<kept_result>& kept() const noexcept { return *kept_; }
  [[nodiscard]] origin_map& origins() const noexcept { return *origins_; }

  /// During its lifetime, saved tensors are treated as outside the region, and no region is running. Hooks that the
  /// region's own code has set remain active.
  class outside {
   public:
    explicit outside(active_region const& of)
        : hooks_{[factory = of.factory_outside()] { return factory == nullptr ? nullptr : (*factory)(); }} {}
    outside(outside const&) = delete;
    outside& operator=(outside const&) = delete;
    ~outside() { innermost() = inside_; }

   private:
    active_region* inside_ = std::exchange(innermost(), nullptr);
    read_tracker::pause untracked_;
    dispatch_mode_scope no_mode_{false};
    saved_hooks_scope hooks_;
  };

 private:
  /// The region's own factory is at index `hooks_`.
  [[nodiscard]] saved_hooks_factory const* factory_outside() const {
    auto const& factories = hook_engine::factories();
    if (factories.size() > hooks_ + 1) return factories.back();
    return hooks_ == 0 ? nullptr : factories[hooks_ - 1];
  }

  std::vector<kept_result>* kept_;
  origin_map* origins_;
  bool again_;
  Rng rng_;
  kept_names const& names_;
  active_region* outer_;
  std::size_t hooks_;  ///< number of hook factories active around the region's own
  std::size_t taken_ = 0;
};

}  // namespace cairn::libtorch::detail
