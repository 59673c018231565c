#pragma once
/// \file chain_launcher.hpp  What runs the parts of a chain planner's tables at once.
#include <cstddef>
#include <functional>

namespace cairn {

/// Runs f(0) .. f(count - 1), each once and in any order, at once if it can, and returns when all are done;
/// `thread_launcher` is one.
using chain_launcher = std::function<void(std::size_t count, std::function<void(std::size_t)> const& f)>;

}  // namespace cairn
