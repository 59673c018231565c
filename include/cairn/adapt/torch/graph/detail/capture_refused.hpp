// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file capture_refused.hpp  What a capture throws when a call has no graph.
#include <string>

namespace cairn::libtorch::detail {

/// Why a call cannot be captured: one sentence, as a notice shows it.
struct capture_refused {
  std::string reason;
};

}  // namespace cairn::libtorch::detail
