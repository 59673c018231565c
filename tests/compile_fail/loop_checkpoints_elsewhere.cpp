// error: checkpoints\(\) needs a store that keeps frames
// SPDX-License-Identifier: Apache-2.0
#include <cairn/cairn.hpp>
#include <vector>

struct copies {  // as a disk: states are no frames there
  std::vector<double> kept{};
  void begin(cairn::slot_index slots) { kept.resize(std::size_t(slots)); }
  void save(auto& frames, cairn::place where, cairn::step_index, cairn::frame_id frame) {
    kept[std::size_t(where.slot)] = frames.state(frame);
  }
  cairn::frame_id load(auto& frames, cairn::place where, cairn::step_index) {
    cairn::frame_id const frame = frames.take();
    frames.emplace(frame, kept[std::size_t(where.slot)]);
    return frame;
  }
  void drop(auto&, cairn::place) {}
};
auto const step = [](double& x) { x *= 2; };
int main() {
#ifdef CAIRN_FIXED
  cairn::memory_store store;
#else
  copies store;
#endif
  auto run = cairn::checkpointed_loop(step, 1.0, 10, store);
  double sum = 0;
  for (auto [position, x] : run.checkpoints()) sum += x + double(position);
  return sum > 0 ? 0 : 1;
}
