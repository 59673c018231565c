// error: the replay check cannot determine which bytes of this state
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>

class state {
 public:
  double& value() { return value_; }
  double value() const { return value_; }
#ifdef CAIRN_FIXED
  void visit_buffers(auto& f) const { cairn::visit_buffers(value_, f); }
  void visit_buffers(auto& f) { cairn::visit_buffers(value_, f); }
#endif

 private:
  double value_ = 1;
  char letter_ = 0;
};
auto const step = [](state& x) { x.value() *= 2; };
auto const adjoint = [](state const&, double& bar) { bar *= 2; };
auto const g =
    cairn::gradient(step, state{}, 10, 1.0, adjoint, cairn::sweep_options{.verify = cairn::replay_check::checkpoints});
