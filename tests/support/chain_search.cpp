// SPDX-License-Identifier: Apache-2.0
#include "support/chain_search.hpp"
#include "support/least_peak.hpp"

namespace brute {

chain_search::chain_search(cairn::chain const& c) : c_{c}, stages_{int(c.stages())} {
  if (c_.g.empty()) c_.g = c_.x;
  c_.f.resize(std::size_t(stages_)), c_.b.resize(std::size_t(stages_) + 1), c_.v.resize(std::size_t(stages_) + 1);
  state_bytes_.assign(std::size_t{1} << stages_, 0), tape_bytes_ = state_bytes_;
  for (unsigned set = 1; set < unsigned(state_bytes_.size()); ++set) {
    int const low = __builtin_ctz(set);
    state_bytes_[set] = state_bytes_[set & (set - 1)] + c_.x[std::size_t(low) + 1];
    tape_bytes_[set] = tape_bytes_[set & (set - 1)] + c_.s[std::size_t(low)];
  }
}
std::optional<std::int64_t> chain_search::makespan(std::int64_t budget) {
  time_.assign(std::size_t(stages_ + 2) << (2 * stages_), never);
  next_ = {};
  reach({stages_ + 1, 0, 0}, 0);
  while (!next_.empty()) {
    auto const [time, number] = next_.top();
    next_.pop();
    if (time > time_[number]) continue;
    place const at = place_of(number);
    if (at.adjoint == 0) return time;
    leave(at, time, budget);
  }
  return {};
}
std::int64_t chain_search::least_peak(std::int64_t enough) { return least_peak_of(*this, enough); }
std::size_t chain_search::number_of(place at) const {
  return (std::size_t(at.adjoint) << (2 * stages_)) | (std::size_t(at.states) << stages_) | at.tapes;
}
chain_search::place chain_search::place_of(std::size_t number) const {
  unsigned const all = (1u << stages_) - 1;
  return {int(number >> (2 * stages_)), unsigned(number >> stages_) & all, unsigned(number) & all};
}
std::int64_t chain_search::bytes(place at) const {
  return state_bytes_[at.states] + tape_bytes_[at.tapes] +
         (at.adjoint > 0 && at.adjoint <= stages_ ? c_.g[std::size_t(at.adjoint)] : 0);
}
void chain_search::reach(place at, std::int64_t time) {
  std::size_t const number = number_of(at);
  if (time >= time_[number]) return;
  time_[number] = time;
  next_.push({time, number});
}
void chain_search::leave(place at, std::int64_t time, std::int64_t budget) {
  std::int64_t const held = bytes(at);
  auto const state_bit = [](int i) { return 1u << (i - 1); };
  auto const at_hand = [&](int i) { return i == 0 || (at.states & state_bit(i)) || (at.tapes >> (i - 1) & 1u); };
  for (int i = 1; i <= stages_; ++i)
    if (at.states & state_bit(i)) reach({at.adjoint, at.states & ~state_bit(i), at.tapes}, time);
  for (int i = 0; i < stages_; ++i)
    if (at.tapes >> i & 1u) reach({at.adjoint, at.states, at.tapes & ~(1u << i)}, time);
  for (int i = 0; i < stages_ && i < at.adjoint; ++i) {
    std::size_t const k = std::size_t(i);
    if (!at_hand(i)) continue;
    if (!(at.states & state_bit(i + 1)) && held + c_.x[k + 1] + c_.f[k] <= budget)
      reach({at.adjoint, at.states | state_bit(i + 1), at.tapes}, time + c_.u[k]);
    if (!(at.tapes >> i & 1u) && held + c_.s[k] + c_.f[k] <= budget)
      reach({at.adjoint, at.states & ~state_bit(i + 1), at.tapes | 1u << i}, time + c_.u[k]);
  }
  int const i = at.adjoint - 1;
  bool const loss = i == stages_;
  if (!loss && !(at.tapes >> i & 1u)) return;
  if ((loss || !c_.self_contained_tape) && !at_hand(i)) return;
  if (held + c_.b[std::size_t(i)] > budget) return;
  place after{i, at.states, loss ? at.tapes : at.tapes & ~(1u << i)};
  if (loss ? i > 0 : true) after.states &= ~state_bit(loss ? i : i + 1);
  if (bytes(after) <= budget) reach(after, time + c_.v[std::size_t(i)]);
  // The state below may go at the moment its adjoint comes.
  if (i > 0 && !loss) {
    after.states &= ~state_bit(i);
    if (bytes(after) <= budget) reach(after, time + c_.v[std::size_t(i)]);
  }
}

}  // namespace brute
