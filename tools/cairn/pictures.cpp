// SPDX-License-Identifier: Apache-2.0
#include "pictures.hpp"

#include "picture/memory.hpp"
#include "picture/space_time.hpp"
#include "picture/sweep_breakdown.hpp"

namespace tool {
namespace {

/// What fits on a terminal of the usual size.
constexpr int columns = 78, rows = 30, memory_rows = 20;

cairn::workload sizes_of(planned const& found) {
  return found.asked.state ? workload_of(found.asked) : cairn::workload{};
}

}  // namespace

std::string schedule_svg(planned const& found, std::string_view title) {
  return picture::space_time_svg(found.plan, title);
}
std::string schedule_picture(planned const& found) { return picture::space_time_text(found.plan, columns, rows); }
std::string memory_svg(planned const& found, std::string_view title) {
  return picture::memory_svg(found.plan, sizes_of(found), title);
}
std::string memory_picture(planned const& found) {
  return picture::memory_text(found.plan, sizes_of(found), columns, memory_rows);
}
std::string parts_svg(planned const& found, std::string_view title) {
  auto parts = picture::sweep_breakdown(found.plan, sizes_of(found));
  parts.title = title;
  return breakdown_svg(parts);
}

}  // namespace tool
