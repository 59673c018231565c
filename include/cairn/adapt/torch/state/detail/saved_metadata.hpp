// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file saved_metadata.hpp  The metadata of a saved tensor, and comparison with another tensor.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <ATen/core/Tensor.h>
#include <cairn/adapt/torch/state/detail/saved_origin.hpp>
#include <cairn/adapt/torch/state/detail/tensor_metadata.hpp>
#include <cairn/adapt/torch/state/determinism.hpp>
#include <cairn/adapt/torch/state/recompute_mismatch.hpp>
#include <cairn/core/error.hpp>

namespace cairn::libtorch::detail {

/// A saved tensor without its values.
struct saved_metadata {
  tensor_metadata tensor;
  std::int64_t version = 0;       ///< how often it had been changed in place
  Check check = Check::Metadata;  ///< how closely it is compared
  saved_origin origin = {};

  [[nodiscard]] static saved_metadata of(at::Tensor const& t, Check check, saved_origin origin = {}) {
    return {tensor_metadata::of(t, check == Check::Bits), std::int64_t(t._version()), check, origin};
  }
  [[nodiscard]] std::string text() const { return tensor.text(); }
};

/// A saved tensor, and how often it had been changed in place when it was saved.
struct saved_tensor {
  at::Tensor value;
  std::int64_t version = 0;
  saved_origin origin = {};

  saved_tensor() = default;
  explicit saved_tensor(at::Tensor t, saved_origin from = {})
      : value{std::move(t)}, version{std::int64_t(value._version())}, origin{from} {}
  [[nodiscard]] bool unchanged() const { return std::int64_t(value._version()) == version; }
};

inline constexpr char const* recompute_advice =
    "let the computation depend only on its inputs: no counters, no global state, no other random generators";

/// Whether `again` is the tensor that the first run saved, as far as can be told without comparing bits.
[[nodiscard]] inline bool same_saved(saved_metadata const& first, saved_tensor const& again) {
  if (!(again.origin == first.origin)) return false;
  return first.check == Check::Off || first.tensor.is_of(again.value);
}
/// \param number  of the tensor, in the order of saving   \param place  name of the error's first value, with its value
/// \throws recompute_mismatch   if its metadata differs from `first`   \throws invalid_call   if it was changed in
///   place
inline void check_saved(saved_metadata const& first, saved_tensor const& again, char const* who, std::size_t number,
                        named_value place, char const* advice = recompute_advice) {
  if (!again.unchanged())
    throw invalid_call{who,
                       "a tensor saved for backward was changed in place afterwards",
                       {place, {"tensor", number}},
                       "change a copy of it, or change it before it is used"};
  auto const now = saved_metadata::of(again.value, first.check, again.origin);
  if (!same_saved(first, again)) {
    bool const metadata = now.text() == first.text();  // the metadata agrees, so the operations differ
    auto const text = [&](saved_metadata const& one) {
      return metadata ? one.text() + " " + one.origin.text() : one.text();
    };
    throw recompute_mismatch{
        who,
        ("a tensor saved for backward is " + text(now) + " when it is computed again, and was " + text(first)).c_str(),
        {place, {"tensor", number}},
        advice};
  }
  if (first.check == Check::Off) return;
  if (again.version != first.version)
    throw invalid_call{who,
                       "a tensor that was read was changed in place before backward",
                       {place, {"tensor", number}},
                       "run backward first, for example before the optimiser's step"};
  if (now.tensor.bits != first.tensor.bits)
    throw recompute_mismatch{who,
                             "a tensor saved for backward has different bits when it is computed again",
                             {place, {"tensor", number}},
                             advice};
}

}  // namespace cairn::libtorch::detail
