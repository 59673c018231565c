// SPDX-License-Identifier: Apache-2.0
// Sizes: a text is refused, or it is a number that is read back from its digits and from its other spellings.
#include <string>

#include <cairn/core/bytes.hpp>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text = fuzz::text_of(data, size);
  cairn::byte_size read;
  if (fuzz::refuses<cairn::invalid_size, cairn::overflow_error>([&] { read = text; })) return 0;
  std::string const digits = std::to_string(read.count());
  fuzz::require(cairn::byte_size{digits} == read, "a size is read back from its digits");
  fuzz::require(cairn::byte_size{digits + " B"} == read, "a size is read back from its bytes");
  fuzz::require(fuzz::refuses<cairn::invalid_size, cairn::overflow_error>(
                    [&] { (void)cairn::byte_size{std::string{text} + "!"}; }),
                "no text is read in part");
  if (read.count() % 1024 == 0)
    fuzz::require(cairn::byte_size{std::to_string(read.count() / 1024) + "KiB"} == read,
                  "a size is read back from its KiB");
  return 0;
}
