// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chain_launcher.hpp  A callable that runs parts of a chain planner's tables in parallel.
#include <cstddef>
#include <functional>

namespace cairn {

/// Calls f(0) .. f(count - 1), each once and in any order, in parallel if it can, and returns when all calls are done.
/// `thread_launcher` is an example.
using chain_launcher = std::function<void(std::size_t count, std::function<void(std::size_t)> const& f)>;

}  // namespace cairn
