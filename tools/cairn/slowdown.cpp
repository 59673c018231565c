// SPDX-License-Identifier: Apache-2.0
#include "slowdown.hpp"

#include <cairn/plan/text/plan_text.hpp>
#include <cairn/rules/frames_needed.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/slots_for.hpp>

#include "numbers.hpp"

namespace tool {
namespace {

/// A row of slots, step calls, and step calls per step of the loop.
std::string row(char const* name, cairn::step_index steps, cairn::slot_index slots) {
  auto const calls = cairn::step_calls(cairn::revolve{steps, slots}.counts(), cairn::adjoint_form::one_step);
  char text[160];
  std::snprintf(text, sizeof text, "%-12s %20s %28s %12s\n", name, grouped(cairn::wide(slots)).c_str(),
                grouped(calls).c_str(), fixed(steps > 0 ? double(calls) / double(steps) : 0).c_str());
  return text;
}

}  // namespace

std::string slots_text(cairn::step_index steps, double slowdown) {
  auto const slots = cairn::slots_for_slowdown(steps, slowdown);
  char head[160];
  std::snprintf(head, sizeof head, "%-12s %20s %28s %12s\n", "revolve", "slots", "step calls", "per step");
  return head + row("enough", steps, slots) + (slots > 1 ? row("one less", steps, slots - 1) : "") + cairn::slots_note +
         '\n';
}

}  // namespace tool
