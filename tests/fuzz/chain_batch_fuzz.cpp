// SPDX-License-Identifier: Apache-2.0
// Lines of `cairn chain --batch`: each is answered by a plan or an error. Requests for long chains are read only.
#include "chain_batch.hpp"

#include "answers.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const line = fuzz::line_of(data, size);
  auto const asked = tool::read_chain_request(line);
  if (!asked || (asked->work.stages() <= 4 && asked->how.options.slots <= 30))
    fuzz::require_answer(line, !asked, tool::answer_chain_lines, "planner");
  return 0;
}
