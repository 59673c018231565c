#pragma once
/// \file refused.hpp  What is left of a call that was refused at compile time.

namespace cairn::detail {

/// What a verb returns once its checks have failed, so that `auto g = gradient(...)` adds no second error.
struct refused {};

}  // namespace cairn::detail
