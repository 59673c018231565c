// error: probe cannot determine how many bytes a state, adjoint or tape
// SPDX-License-Identifier: Apache-2.0
#include <cairn/run/probe.hpp>
#include <chrono>
#include <filesystem>

std::size_t held() { return 0; }
int main() {
  auto const step = [](std::filesystem::path& x, cairn::step_index) { x += "a"; };
  auto const adjoint = [](std::filesystem::path const&, double& bar, cairn::step_index) { bar *= 0.5; };
#ifdef CAIRN_FIXED
  (void)cairn::probe<std::chrono::steady_clock>(step, std::filesystem::path{}, 100, 1.0, adjoint, 16, held);
#else
  (void)cairn::probe<std::chrono::steady_clock>(step, std::filesystem::path{}, 100, 1.0, adjoint);
#endif
}
