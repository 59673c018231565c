// error: a copy would share its data with the original
// SPDX-License-Identifier: Apache-2.0
#include <cairn/core/state_traits.hpp>

#ifdef CAIRN_FIXED
struct field {
  double x = 1;
};
#else
struct field {
  double* x = nullptr;
};
#endif
int main() {
  field from, into;
  cairn::copy_state(from, into);
}
