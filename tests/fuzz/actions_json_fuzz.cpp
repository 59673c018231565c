// SPDX-License-Identifier: Apache-2.0
// Actions as JSON: a text is refused, or it is a whole list that is read back from what it is written as.
#include <optional>

#include <cairn/adapt/nlohmann_json.hpp>

#include "actions.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text{fuzz::text_of(data, size)};
  std::optional<cairn::action_list> plan;
  if (fuzz::refuses<cairn::parse_error, cairn::invalid_plan>([&] { plan = cairn::read_actions_json(text); })) return 0;
  fuzz::require_sound(*plan);
  fuzz::require(fuzz::refuses<cairn::parse_error>([&] { (void)cairn::read_actions_json(text + "!"); }),
                "no text is read in part");
  if (cairn::check(*plan))
    fuzz::require(fuzz::written(cairn::read_actions_json(cairn::actions_json(*plan).dump())) == fuzz::written(*plan),
                  "a list is read back from its JSON");
  return 0;
}
