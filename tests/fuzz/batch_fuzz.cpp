// SPDX-License-Identifier: Apache-2.0
// Lines of `cairn plan --batch`: each is answered by a plan or an error. Requests for large plans are read only.
#include "batch.hpp"

#include <algorithm>

#include "answers.hpp"

namespace {

bool is_small(tool::request const& asked) {
  constexpr std::int64_t most = 300;
  auto const few = [](auto const& number) { return !number || *number <= most; };
  return few(asked.steps) && few(asked.slots) && few(asked.extra_slots) && few(asked.ram_slots) &&
         few(asked.disk_slots) && few(asked.units) &&
         std::all_of(asked.tiers.begin(), asked.tiers.end(), [](auto const& one) { return one.slots <= 30; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const line = fuzz::line_of(data, size);
  auto const asked = tool::read_request(line);
  if (!asked || is_small(*asked)) fuzz::require_answer(line, !asked, tool::answer_lines, "schedule");
  return 0;
}
