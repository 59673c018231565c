// SPDX-License-Identifier: Apache-2.0
// Chains as JSON: a text is refused, or it is a chain that is read back from what it is written as.
#include <string>

#include <cairn/adapt/nlohmann_json/chain.hpp>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text{fuzz::text_of(data, size)};
  cairn::chain work;
  if (fuzz::refuses<cairn::parse_error, cairn::invalid_plan, cairn::overflow_error>(
          [&] { work = cairn::read_chain_json(text); }))
    return 0;
  std::string const written = cairn::chain_json(work).dump();
  fuzz::require(cairn::chain_json(cairn::read_chain_json(written)).dump() == written,
                "a chain is read back from its JSON");
  fuzz::require(fuzz::refuses<cairn::parse_error>([&] { (void)cairn::read_chain_json(text + "!"); }),
                "no text is read in part");
  return 0;
}
