#include "support/torch.hpp"
#include <cairn/adapt/torch/process_memory.hpp>

TEST_CASE("the memory of the process grows by what is written to, and its peak stays", "[torch]") {
  auto const before = cairn::process_memory();
  CHECK(before.resident > 1'000'000);
  CHECK(before.peak >= before.resident);
  std::uint64_t const bytes = 64'000'000;
  {
    auto const written = torch::ones({std::int64_t(bytes / 4)});
    CHECK(cairn::process_memory().resident >= before.resident + bytes / 10 * 9);
  }
  auto const after = cairn::process_memory();
  CHECK(after.resident < before.resident + bytes / 2);
  CHECK(after.peak >= before.resident + bytes / 10 * 9);
}
