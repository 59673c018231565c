// error: cannot determine how many bytes this state holds
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/bytes_of.hpp>
#include <nlohmann/json.hpp>
#include <vector>

int main() {
#ifdef CAIRN_FIXED
  std::vector<double> const x(1);
#else
  nlohmann::json const x{1.0};
#endif
  return cairn::bytes_of(x) > 0;
}
