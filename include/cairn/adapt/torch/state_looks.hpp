#pragma once
/// \file state_looks.hpp  What the states of a loop looked like when they were computed first.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/determinism.hpp>
#include <cairn/adapt/torch/saved_look.hpp>
#include <cairn/core/action.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// A part of a state without its values.
struct part_look {
  std::vector<std::int64_t> sizes;
  at::ScalarType type = at::ScalarType::Undefined;
  at::Device device = at::kCPU;
  std::uint64_t bits = 0;  ///< a hash, where bits are compared

  [[nodiscard]] static part_look of(at::Tensor const& t, Check check) {
    if (!t.defined()) return {};
    return {t.sizes().vec(), t.scalar_type(), t.device(), check == Check::Bits ? hash_of_bits(t) : 0};
  }
  [[nodiscard]] bool is_like(part_look const& other) const { return type == other.type && device == other.device && sizes == other.sizes; }
  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    text << at::toString(type) << at::IntArrayRef{sizes} << " on " << device;
    return text.str();
  }
};

/// The looks of all states. Consecutive states that look alike are kept once: a few bytes for a loop, or where bits count some for each step.
class state_looks {
 public:
  explicit state_looks(Check check) : check_{check} {}

  /// \pre states come in order
  void note(step_index i, at::TensorList parts) {
    if (check_ == Check::Off) return;
    look_list now;
    for (auto const& part : parts) now.push_back(part_look::of(part, check_));
    if (all_.empty() || !same(all_.back().looks, now)) all_.push_back({i, std::move(now)});
  }
  /// \throws recompute_mismatch   \pre state i was noted
  void compare(char const* who, step_index i, at::TensorList parts) const {
    if (check_ == Check::Off) return;
    auto const& first = looks_at(i);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      auto const now = part_look::of(parts[k], check_);
      if (!first[k].is_like(now))
        throw recompute_mismatch{who, ("a step gives " + now.text() + " when it is run again, and gave " + first[k].text()).c_str(),
                                 {{"step", i - 1}, {"part", k}}, advice};
      if (first[k].bits != now.bits)
        throw recompute_mismatch{who, "a step gives other bits when it is run again", {{"step", i - 1}, {"part", k}}, advice};
    }
  }

 private:
  static constexpr char const* advice =
      "make the step a function of its state and its number: no counters, no global state, no other random generators";
  using look_list = std::vector<part_look>;
  struct noted {
    step_index from;  ///< the first state that looked so
    look_list looks;
  };

  [[nodiscard]] static bool same(look_list const& x, look_list const& y) {
    bool same = x.size() == y.size();
    for (std::size_t k = 0; same && k < x.size(); ++k) same = x[k].is_like(y[k]) && x[k].bits == y[k].bits;
    return same;
  }
  [[nodiscard]] look_list const& looks_at(step_index i) const {
    std::size_t low = 0, high = all_.size();  // all_[low].from <= i, and i < all_[high].from
    while (high - low > 1) {
      auto const middle = low + (high - low) / 2;
      (all_[middle].from <= i ? low : high) = middle;
    }
    return all_[low].looks;
  }

  Check check_;
  std::vector<noted> all_;
};

}  // namespace cairn::detail
