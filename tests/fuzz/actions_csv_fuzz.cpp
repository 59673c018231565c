// Actions as CSV: a text is refused, or it is a whole list that is read back from what it is written as.
#include <optional>

#include "actions.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text{fuzz::text_of(data, size)};
  std::optional<cairn::listed> plan;
  if (fuzz::refuses<cairn::parse_error, cairn::invalid_plan>([&] { plan = cairn::read_actions_csv(text); })) return 0;
  fuzz::require_sound(*plan);
  fuzz::require(fuzz::refuses<cairn::parse_error>([&] { (void)cairn::read_actions_csv(text + "\nno such thing\n"); }), "no text is read in part");
  return 0;
}
