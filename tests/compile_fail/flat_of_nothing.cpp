// error: cairn::flat is for a type that shows its elements
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/bytes_of.hpp>
#include <cstddef>

class grid {
 public:
#ifdef CAIRN_FIXED
  double& operator[](std::size_t k) { return held_[k]; }
  double const& operator[](std::size_t k) const { return held_[k]; }
  std::size_t size() const { return 3; }
#else
  double& value() { return held_[0]; }
#endif

 private:
  double held_[3] = {};
};
template <>
struct cairn::state_traits<grid> : cairn::flat<grid> {};
cairn::state_traits<grid> traits;
