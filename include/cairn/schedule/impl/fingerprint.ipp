// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>
#include <cairn/core/detail/lesser.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/binomial.hpp>
#include <cairn/schedule/fingerprint.hpp>

namespace cairn {
namespace detail {

/// Builds the pieces of plans whose actions follow from a few numbers.
class hash_writer {
 public:
  explicit constexpr hash_writer(step_stretch const& by) noexcept : unit_{by.unit}, end_{by.end} {}

  static constexpr linear_form none{.one = residue{no_slot}};
  /// Step i after the step at which the piece begins, plus k times the iteration number of a loop.
  [[nodiscard]] constexpr linear_form at(step_index i, std::int64_t k = 0) const noexcept {
    return linear_form{.one = residue{i}, .base = residue{1}, .turn = residue{k}} * unit_;
  }
  [[nodiscard]] constexpr linear_form end() const noexcept { return {.one = residue{end_}}; }

  [[nodiscard]] static constexpr hash_piece make(action_kind kind, tier where, linear_form const& slot,
                                                 linear_form const& from, linear_form const& to) noexcept {
    linear_form const code{.one = code_of(kind, where, content::state)};
    return {code + slot * hash_slot + from * hash_from + to * hash_to, hash_point};
  }
  [[nodiscard]] static constexpr hash_piece advance(linear_form const& from, linear_form const& to) noexcept {
    return make(action_kind::advance, tier::memory, none, from, to);
  }
  [[nodiscard]] static constexpr hash_piece reverse(linear_form const& from, linear_form const& to) noexcept {
    return make(action_kind::reverse, tier::memory, none, from, to);
  }
  [[nodiscard]] static constexpr hash_piece turn(linear_form const& from, linear_form const& to) noexcept {
    return make(action_kind::turn, tier::memory, none, from, to);
  }
  [[nodiscard]] static constexpr hash_piece drop(tier where, linear_form const& slot) noexcept {
    return make(action_kind::drop, where, slot, {}, {});
  }

 private:
  residue unit_;
  step_index end_;
};

/// The steps and slots of a part of a `revolve`.
struct hash_part {
  step_index steps = 0;
  slot_index slots = 0;  // includes the slot of the first state
  bool last = false;     // whether it ends at the end of the loop
  bool root = false;     // whether its first state is that of the whole plan
  friend constexpr bool operator==(hash_part const&, hash_part const&) = default;
};
struct hash_part_spread {
  [[nodiscard]] std::size_t operator()(hash_part const& part) const noexcept {
    auto spread = std::uint64_t(part.steps) * 0x9E3779B97F4A7C15u;
    spread ^= (std::uint64_t(part.slots) * 4 + (part.last ? 2 : 0) + (part.root ? 1 : 0)) * 0xC2B2AE3D27D4EB4Fu;
    return std::size_t(spread ^ spread >> 32);
  }
};

/// The differences between plans that divide by the binomial rule.
struct binomial_style {
  tier root_on = tier::memory;   // tier of the first state of the loop
  tier inner_on = tier::memory;  // tier of the other states
  bool drops_root = true;        // whether the slot of the first state is freed at its last load
  bool turns = true;             // whether the turn comes right before the first reverse
};

/// Hashes the actions of `revolve` from the moment when the first state of some steps is live and kept. The rule
/// divides each part into two whose actions depend only on their steps and slots; parts with the same numbers are the
/// same piece, moved. There are O(slots * repetition number) different parts.
class binomial_hash : hash_writer {
 public:
  binomial_hash(step_stretch const& by, binomial_style style, work_meter& meter) noexcept
      : hash_writer{by}, style_{style}, meter_{meter} {}

  /// The actions for `steps` steps.   \pre steps >= 2
  [[nodiscard]] hash_piece whole(step_index steps, slot_index slots, bool last) {
    hash_part const all{steps, slots, last, true};
    begin({all, bracket_of(steps, slots)});
    while (!open_.empty()) {
      task const top = open_.back();
      if (made_.find(top.part) != made_.end()) open_.pop_back();
      else if (top.part.slots == 1) made_.emplace(top.part, one_slot(top.part));
      else if (top.ahead.t == 1) made_.emplace(top.part, all_slots(top.part));
      else divide(top);
    }
    return made_.find(all)->second;
  }
  /// The same, preceded by the load of the first state. For one step the actions are those of `lone_step`, which has
  /// its own load.
  [[nodiscard]] hash_piece from_load(step_index steps, slot_index slots, bool last) {
    hash_part const all{steps, slots, last, true};
    return steps > 1 ? load(all) * whole(steps, slots, last) : lone_step(all);
  }

 private:
  struct task { hash_part part; bracket ahead; };

  void begin(task const& part) {
    constexpr wide sums_of_a_part = 256, sums_of_loops = 4096;
    meter_.add(part.part.slots == 1 || part.ahead.t == 1 ? sums_of_loops : sums_of_a_part);
    open_.push_back(part);
  }
  /// Joins a part from its two halves, or asks for the halves first.
  void divide(task const& of) {
    auto const& [steps, slots, last, root] = of.part;
    bracket left = of.ahead, right;
    step_index const split = take_split(steps, q_below<wide>(slots, left), left, right);
    hash_part const front{split, slots, false, root}, back{steps - split, slots - 1, last, false};
    bool const front_is_short = front.steps < 2, back_is_short = back.steps < 2;
    auto const of_front = front_is_short ? made_.end() : made_.find(front);
    auto const of_back = back_is_short ? made_.end() : made_.find(back);
    bool const lacks_front = !front_is_short && of_front == made_.end();
    bool const lacks_back = !back_is_short && of_back == made_.end();
    if (lacks_front) begin({front, left});
    if (lacks_back) begin({back, right});
    if (lacks_front || lacks_back) return;
    hash_piece made = advance(at(0), at(split));
    if (back_is_short) made *= first_reverse(of.part);
    else made *= make(action_kind::save, style_.inner_on, {.one = residue{1}, .slot = residue{1}}, at(split), {}) *
                 of_back->second.moved({.base = split, .slot = 1});
    made_.emplace(of.part, made * (front_is_short ? lone_step(front) : load(front) * of_front->second));
  }

  [[nodiscard]] tier tier_of(hash_part const& part) const noexcept {
    return part.root ? style_.root_on : style_.inner_on;
  }
  [[nodiscard]] static linear_form slot_of(hash_part const& part) noexcept {
    return part.root ? linear_form{.root = residue{1}} : linear_form{.slot = residue{1}};
  }
  [[nodiscard]] hash_piece load(hash_part const& part) const noexcept {
    return make(action_kind::load, tier_of(part), slot_of(part), at(0), {});
  }
  /// The actions of the last step of a part, whose state is live.
  [[nodiscard]] hash_piece first_reverse(hash_part const& part) const noexcept {
    linear_form const from = at(part.steps - 1), to = part.last ? end() : at(part.steps);
    return part.last && style_.turns ? turn(from, to) * reverse(from, to) : reverse(from, to);
  }
  /// The actions of the first step, the last one that needs the kept state.
  [[nodiscard]] hash_piece lone_step(hash_part const& part) const noexcept {
    hash_piece const back = reverse(at(0), part.last && part.steps == 1 ? end() : at(1));
    bool const drops = !part.root || style_.drops_root;
    return drops ? load(part) * drop(tier_of(part), slot_of(part)) * back : load(part) * back;
  }
  /// The actions with one slot: each step is reached from the first state.
  [[nodiscard]] hash_piece one_slot(hash_part const& part) const noexcept {
    hash_piece const again = load(part) * advance(at(0), at(1, 1)) * reverse(at(1, 1), at(2, 1));
    return advance(at(0), at(part.steps - 1)) * first_reverse(part) * repeated(again, part.steps - 2, false) *
           lone_step({1, part.slots, false, part.root});
  }
  /// The actions with a slot for each state.
  [[nodiscard]] hash_piece all_slots(hash_part const& part) const noexcept {
    linear_form const slot{.one = residue{1}, .slot = residue{1}, .turn = residue{1}};
    hash_piece const there =
        advance(at(0, 1), at(1, 1)) * make(action_kind::save, style_.inner_on, slot, at(1, 1), {});
    hash_piece const back = make(action_kind::load, style_.inner_on, slot, at(1, 1), {}) *
                            drop(style_.inner_on, slot) * reverse(at(1, 1), at(2, 1));
    step_index const inner = part.steps - 2;
    return repeated(there, inner, true) * advance(at(inner), at(inner + 1)) * first_reverse(part) *
           repeated(back, inner, false) * lone_step({1, part.slots, false, part.root});
  }

  binomial_style style_;
  work_meter& meter_;
  std::vector<task> open_;
  std::unordered_map<hash_part, hash_piece, hash_part_spread> made_;
};

CAIRN_DECL residue hash_of(revolve const& plan, step_stretch const& by, work_meter& meter) {
  hash_writer const write{by};
  step_index const steps = plan.steps();
  bool const free = plan.initial_is_free();
  if (steps == 0) return write.turn(write.at(0), write.end()).sum.one;
  if (steps == 1) return (write.turn(write.at(0), write.end()) * write.reverse(write.at(0), write.end())).sum.one;
  binomial_hash inside{by, {.drops_root = !free}, meter};
  hash_piece const all = inside.whole(steps, plan.slots() + (free ? 1 : 0), true);
  if (free) return all.moved({.slot = -1, .root = no_slot}).sum.one;
  return (write.make(action_kind::save, tier::memory, {}, write.at(0), {}) * all).sum.one;
}

CAIRN_DECL residue hash_of(two_level const& plan, step_stretch const& by, work_meter& meter) {
  hash_writer const write{by};
  step_index const steps = plan.steps(), count = plan.periods();
  if (steps == 0) return write.turn(write.at(0), write.end()).sum.one;
  tier const starts_on = plan.slot_tier(0), extra_on = plan.slot_tier(count);
  step_index const whole = count > 1 ? plan.period() : steps;
  step_index const last_start = (count - 1) * whole;
  hash_move const next{.base = whole, .root = 1};
  hash_piece const save = write.make(action_kind::save, starts_on, {.root = residue{1}}, write.at(0), {});
  hash_piece const there = (save * write.advance(write.at(0), write.at(whole))).moving(next);
  hash_piece all = repeated(there, count - 1, true);
  all *= (save * write.advance(write.at(0), write.end())).moved({.base = last_start, .root = count - 1});
  all *= write.turn(write.end(), write.end());
  binomial_hash inside{by, {.root_on = starts_on, .inner_on = extra_on, .turns = false}, meter};
  auto const period = [&](step_index length, bool last) {
    return inside.from_load(length, plan.extra_slots() + 1, last).moved({.slot = count - 1});
  };
  all *= period(steps - last_start, true).moved({.base = last_start, .root = count - 1});
  if (count > 1) all *= repeated(period(whole, false).moving(next), count - 1, false);
  return all.sum.one;
}

CAIRN_DECL residue hash_of(uniform const& plan, step_stretch const& by) {
  hash_writer const write{by};
  step_index const steps = plan.steps(), count = plan.blocks();
  if (steps == 0) return write.turn(write.at(0), write.end()).sum.one;
  if (steps == 1) return (write.turn(write.at(0), write.end()) * write.reverse(write.at(0), write.end())).sum.one;
  auto const start = [&](step_index j) { return j == 0 ? 0 : j == count ? steps : plan.checkpoint(j - 1); };
  // Blocks [0, front) have the length of the first one, the others that of the last one.
  step_index const front_length = start(1), back_length = steps - start(count - 1);
  step_index front = count;
  if (front_length != back_length) {
    step_index other = count;
    for (front = 1; other - front > 1;) {
      step_index const middle = front + (other - front) / 2;
      (start(middle) - start(middle - 1) == front_length ? front : other) = middle;
    }
  }
  linear_form const own{.slot = residue{1}}, next{.slot = residue{1}, .turn = residue{1}};
  linear_form const after{.one = residue{1}, .slot = residue{1}, .turn = residue{1}};
  auto const save = [&](linear_form const& slot, linear_form const& at) {
    return write.make(action_kind::save, tier::memory, slot, at, {});
  };
  auto const back_from = [&](linear_form const& slot, step_index first) {
    return write.make(action_kind::load, tier::memory, slot, write.at(first, 1), {}) * write.drop(tier::memory, slot) *
           write.reverse(write.at(first, 1), write.at(first + 1, 1));
  };
  // The first states of `blocks` blocks of one length in the forward run, and these blocks in the reverse sweep.
  auto const forward = [&](step_index length, step_index blocks) {
    hash_piece const one = save(own, write.at(0)) * write.advance(write.at(0), write.at(length));
    return repeated(one.moving({.base = length, .slot = 1}), blocks, true);
  };
  auto const backward = [&](step_index length, step_index blocks) {
    hash_piece one = write.make(action_kind::load, tier::memory, own, write.at(0), {});
    if (length > 1) {
      hash_piece const keep = write.advance(write.at(0, 1), write.at(1, 1)) * save(after, write.at(1, 1));
      one *= repeated(keep, length - 2, true) * write.advance(write.at(length - 2), write.at(length - 1)) *
             write.reverse(write.at(length - 1), write.at(length)) * repeated(back_from(after, 1), length - 2, false) *
             write.make(action_kind::load, tier::memory, own, write.at(0), {});
    }
    one *= write.drop(tier::memory, own) * write.reverse(write.at(0), write.at(1));
    return repeated(one.moving({.base = length, .slot = 1}), blocks, false);
  };
  step_index const last = count - 1, front_again = lesser(last, front), back_again = last - front_again;
  hash_move const to_back{.base = front_again * front_length, .slot = front_again};
  hash_move const to_last{.base = start(last), .slot = last};
  linear_form const final_state = write.at(steps - 1);
  hash_piece const kept = save(next, write.at(0, 1)) * write.advance(write.at(0, 1), write.at(1, 1));
  hash_piece all = forward(front_length, front_again) * forward(back_length, back_again).moved(to_back);
  all *= repeated(kept, back_length - 1, true).moved(to_last);
  all *= write.turn(final_state, write.end()) * write.reverse(final_state, write.end());
  all *= repeated(back_from(next, 0), back_length - 1, false).moved(to_last);
  all *= backward(back_length, back_again).moved(to_back) * backward(front_length, front_again);
  return all.sum.one;
}

CAIRN_DECL plan_fingerprint fingerprint_of(residue hash) noexcept {
  constexpr auto mix = wide{0xBA7C9045F12C7F99u} << 64 | 0x24A19947B3916CF7u;  // odd, so multiplication loses nothing
  wide bits = hash.value() + 1;
  for (int round = 0; round < 2; ++round) {
    bits ^= bits >> 65;
    bits *= mix;
  }
  bits ^= bits >> 67;
  return {std::uint64_t(bits >> 64), std::uint64_t(bits)};
}

inline constexpr char const* fingerprint_advice = "allow more, or give fewer steps";

CAIRN_DECL work_meter fingerprint_meter(step_index steps, work_limit const& limit) {
  return {"cairn::fingerprint",
          {"steps", steps},
          limit,
          fingerprint_advice,
          work_words{"the fingerprint of this plan takes too much work",
                     "the fingerprint of this plan was stopped", "percent of the actions"}};
}

CAIRN_DECL void check_least_walk(step_index steps, step_index leaf, work_limit const& limit) {
  wide const least = wide(greater<step_index>(steps, 0)) / wide(greater<step_index>(leaf, 1));
  if (least > limit.most_sums)
    throw too_much_work{"cairn::fingerprint",
                        "the fingerprint of this plan takes too much work",
                        {{"steps", steps}, {"least actions", least}, {"most sums", limit.most_sums}},
                        fingerprint_advice};
}

}  // namespace detail

CAIRN_DECL plan_fingerprint fingerprint(action const* actions, std::size_t count) noexcept {
  detail::action_hash hash;
  for (std::size_t k = 0; k < count && actions[k].kind != action_kind::done; ++k) hash.add(actions[k]);
  return detail::fingerprint_of(hash.value());
}

CAIRN_DECL std::string plan_fingerprint::text() const {
  std::string digits;
  for (std::uint64_t const half : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[half >> shift & 15];
  return digits;
}

}  // namespace cairn
