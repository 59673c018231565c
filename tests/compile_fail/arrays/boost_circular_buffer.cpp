// error: cannot determine how many bytes this state holds
// SPDX-License-Identifier: Apache-2.0
#include <boost/circular_buffer.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cstddef>

struct history : boost::circular_buffer<double> {
  history() : boost::circular_buffer<double>(4) {}
#ifdef CAIRN_FIXED
  std::size_t bytes() const { return sizeof(history) + capacity() * sizeof(double); }
#endif
};
history const x;
auto const bytes = cairn::bytes_of(x);
