// SPDX-License-Identifier: Apache-2.0
#include "what_it_does.hpp"

#include "numbers.hpp"

namespace tool {

using cairn::wide;

std::string places(planned const& found) {
  std::string text;
  constexpr char const* names[] = {"in memory", "on the device", "on the host", "on disk"};
  for (std::size_t k = 0; k < cairn::tier_count; ++k)
    if (auto const peak = found.counts.tiers[k].peak; peak > 0)
      text += (text.empty() ? "" : " and ") + counted(wide(peak), "state") + ' ' + names[k];
  return text;
}

std::string what_it_does(planned const& found) {
  if (found.plan.steps() < 2 && found.kind != &list_kind())
    return "There is nothing to keep: the only state that a step is reversed from is the initial one.\n";
  return found.kind->words(found);
}

}  // namespace tool
