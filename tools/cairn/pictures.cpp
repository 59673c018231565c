// SPDX-License-Identifier: Apache-2.0
#include "pictures.hpp"

#include <cairn/plan/text/memory_curve.hpp>
#include <cairn/plan/text/space_time.hpp>

namespace tool {
namespace {

/// What fits on a terminal of the usual size.
constexpr int columns = 78, rows = 30;

cairn::workload sizes_of(planned const& found) {
  return found.asked.state ? workload_of(found.asked) : cairn::workload{};
}

}  // namespace

std::string schedule_svg(planned const& found) { return cairn::space_time_svg(found.plan); }
std::string schedule_picture(planned const& found) { return cairn::space_time_text(found.plan, columns, rows); }
std::string memory_svg(planned const& found) { return cairn::memory_svg(found.plan, sizes_of(found), ""); }

}  // namespace tool
