#pragma once
/// \file saved_look.hpp  What a saved tensor looked like, and whether another one looks the same.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/determinism.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/state_hash.hpp>

namespace cairn {

/// What is run again saves other tensors for backward than it saved at first; the values say which tensor, counted from 0.
struct recompute_mismatch : error { using error::error; };

namespace detail {

/// The hash of a tensor's values in order.
[[nodiscard]] inline std::uint64_t hash_of_bits(at::Tensor const& t) {
  auto const values = t.detach().to_dense().cpu().contiguous();
  state_hash hash;
  hash(values.data_ptr(), values.nbytes());
  return hash.value();
}

/// A saved tensor without its values.
struct saved_look {
  std::vector<std::int64_t> sizes;
  at::ScalarType type = at::kFloat;
  at::Device device = at::kCPU;
  std::int64_t version = 0;  ///< how often it had been changed in place
  Check check = Check::Metadata;  ///< how closely it is compared
  std::uint64_t bits = 0;    ///< a hash, where bits are

  /// \param buffers  whose bits differ between runs, and are not compared
  [[nodiscard]] static saved_look of(at::Tensor const& t, Check check, std::vector<at::Tensor> const& buffers) {
    for (auto const& b : buffers)
      if (check == Check::Bits && b.is_alias_of(t)) check = Check::Metadata;
    return {t.sizes().vec(), t.scalar_type(), t.device(), std::int64_t(t._version()), check, check == Check::Bits ? hash_of_bits(t) : 0};
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream text;
    text << at::toString(type) << at::IntArrayRef{sizes} << " on " << device;
    return text.str();
  }
};

/// A saved tensor and how often it had been changed in place then.
struct saved_tensor {
  at::Tensor value;
  std::int64_t version = 0;

  saved_tensor() = default;
  explicit saved_tensor(at::Tensor t) : value{std::move(t)}, version{std::int64_t(value._version())} {}
  [[nodiscard]] bool unchanged() const { return std::int64_t(value._version()) == version; }
};

/// \param number  of the tensor, in the order of saving   \param place  what its first value of the error says, with its value
/// \throws recompute_mismatch   where it does not look as `first`   \throws invalid_call   where it was changed in place
inline void check_saved(saved_look const& first, saved_tensor const& again, char const* who, std::size_t number, named_value place) {
  if (!again.unchanged())
    throw invalid_call{who, "a tensor saved for backward was changed in place afterwards", {place, {"tensor", number}}, "change a copy of it, or change it before it is used"};
  if (first.check == Check::Off) return;
  auto const now = saved_look::of(again.value, first.check, {});
  char const* const advice = "make the computation a function of its inputs alone: no counters, no global state, no other random generators";
  if (now.sizes != first.sizes || now.type != first.type || now.device != first.device)
    throw recompute_mismatch{who, ("a tensor saved for backward is " + now.text() + " when it is computed again, and was " + first.text()).c_str(), {place, {"tensor", number}}, advice};
  if (again.version != first.version)
    throw invalid_call{who, "a tensor that was read was changed in place before backward", {place, {"tensor", number}}, "run backward first, for example before the optimiser's step"};
  if (now.bits != first.bits)
    throw recompute_mismatch{who, "a tensor saved for backward has other bits when it is computed again", {place, {"tensor", number}}, advice};
}

}  // namespace detail
}  // namespace cairn
