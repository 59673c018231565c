// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace support {

/// A state that counts who asks for its bytes.
struct asked_state {
  static inline long asked = 0;
  double v = 0;
  [[nodiscard]] std::size_t bytes() const {
    ++asked;
    return sizeof *this;
  }
};

}  // namespace support
