// SPDX-License-Identifier: Apache-2.0
#include "slowdown.hpp"

#include <cairn/plan/text/plan_text.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/slots_for.hpp>

#include "numbers.hpp"

namespace tool {
namespace {

/// A row of slots, steps run, and steps run per step of the loop.
std::string row(char const* name, cairn::step_index steps, cairn::slot_index slots) {
  auto const forward = cairn::revolve{steps, slots}.counts().advances + cairn::wide(steps);
  char text[160];
  std::snprintf(text, sizeof text, "%-12s %20s %28s %12s\n", name, grouped(cairn::wide(slots)).c_str(),
                grouped(forward).c_str(), fixed(steps > 0 ? double(forward) / double(steps) : 0).c_str());
  return text;
}

}  // namespace

std::string slots_text(cairn::step_index steps, double slowdown) {
  auto const slots = cairn::slots_for_slowdown(steps, slowdown);
  char head[160];
  std::snprintf(head, sizeof head, "%-12s %20s %28s %12s\n", "revolve", "slots", "steps run forward", "per step");
  return head + row("enough", steps, slots) + (slots > 1 ? row("one less", steps, slots - 1) : "") + cairn::slots_note +
         '\n';
}

}  // namespace tool
