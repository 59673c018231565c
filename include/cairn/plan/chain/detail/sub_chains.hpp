// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file sub_chains.hpp  The stretches of a chain that persistent plans are made of: which are equal, and the bytes
/// they need.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/detail/stage_classes.hpp>
#include <cairn/schedule/detail/value_list.hpp>
#include <cairn/schedule/work_limit.hpp>

namespace cairn::detail {

/// Stretches of stages [from, to] of a chain, where the loss is stage L and the caller holds state `from`. A persistent
/// plan of a stretch in some number of bytes does not depend on its place, so stretches of equal stages share one
/// number. Bytes are those free for everything but state `from`; they include the adjoint of state to+1 in the reverse
/// sweep.
class sub_chains {
 public:
  /// \param c  must outlive this object   \param meter  counts the work; null for no limit
  /// Cost: 20 bytes per stretch; O(L^2) time, and O(L^3) if the least bytes are often above `floor`
  /// \throws too_much_work
  explicit sub_chains(chain_model const& c, work_meter* meter = nullptr)
      : c_{c}, classes_{stage_types(c, ranks(c.u), false), meter}, least_(classes_.count()), enough_(classes_.count()) {
    std::size_t const count = classes_.stages();
    // For the stretches of one length, by start: bytes of the largest run before the last stage, and of the largest
    // need of a stage after the first one.
    value_list<std::int64_t> widest(count, 0), later(count, 0);
    for (std::size_t more = 0; more < count; ++more) {
      for (std::size_t s = 0; more > 0 && s + more < count; ++s) {
        std::size_t const t = s + more;
        widest[s] = (std::max)(widest[s], (more == 1 ? 0 : c.x[t - 1]) + c.x[t] + c.f[t - 1]);
        later[s] = (std::max)(later[s], c.x[t] + own_need(t));
      }
      for (std::size_t k = classes_.first(more); k < classes_.first(more + 1); ++k) {
        std::size_t const s = classes_.from(k, more), t = s + more;
        find_needs(k, std::int64_t(s), std::int64_t(t), (std::max)({c.g[t + 1] + widest[s], later[s], own_need(s)}));
        count_work(meter, 16 + more);
      }
    }
  }

  /// The number of the stretch [from, to].
  [[nodiscard]] std::size_t number(std::int64_t from, std::int64_t to) const noexcept {
    return classes_.of(std::size_t(from), std::size_t(to));
  }
  [[nodiscard]] std::size_t count() const noexcept { return classes_.count(); }  ///< number of different stretches
  /// The fewest bytes in which a persistent plan reverses the stretch.
  [[nodiscard]] std::int64_t least(std::size_t number) const noexcept { return least_[number]; }
  /// The bytes in which all tapes of the stretch fit, so that nothing runs again.
  [[nodiscard]] std::int64_t enough(std::size_t number) const noexcept { return enough_[number]; }
  /// Bytes to record stage `from` while the adjoint of state to+1 lives, and for its adjoint later.
  [[nodiscard]] std::int64_t record_need(std::int64_t from, std::int64_t to) const noexcept {
    std::size_t const i = std::size_t(from);
    return c_.s[i] + (std::max)(c_.g[std::size_t(to) + 1] + c_.f[i], c_.g[i + 1] + c_.b[i]);
  }

 private:
  /// Times as small numbers, equal for equal times.
  [[nodiscard]] static value_list<std::int32_t> ranks(value_list<std::int64_t> const& times) {
    value_list<std::int64_t> sorted = times;
    sort_values(sorted, [](std::int64_t one, std::int64_t other) { return one < other; });
    value_list<std::int32_t> answer;
    answer.reserve(times.size());
    for (auto const time : times)
      answer.push_back(std::int32_t(std::lower_bound(sorted.begin(), sorted.end(), time) - sorted.begin()));
    return answer;
  }
  /// Bytes of the recorded run of a stage and of its adjoint, without what else lives.
  [[nodiscard]] std::int64_t own_need(std::size_t i) const noexcept {
    return c_.s[i] + (std::max)(c_.f[i], c_.g[i + 1] + c_.b[i]);
  }
  /// \param floor  a lower bound for all plans of the stretch: each stage but the last one runs while adjoint to+1
  ///   lives, beside its own state or a tape that holds it, and each is recorded and has its adjoint made once
  void find_needs(std::size_t here, std::int64_t from, std::int64_t to, std::int64_t floor) {
    std::int64_t low = record_need(from, to), high = low;
    if (from < to) {
      std::size_t const rest = number(from + 1, to);
      low = (std::max)(low, c_.s[std::size_t(from)] + least_[rest]);
      high = (std::max)(high, c_.s[std::size_t(from)] + enough_[rest]);
    }
    for (std::int64_t j = to; j > from && low > floor; --j)
      low = (std::min)(low,
                       (std::max)({floor, c_.x[std::size_t(j)] + least_[number(j, to)], least_[number(from, j - 1)]}));
    least_[here] = low;
    enough_[here] = high;
  }

  chain_model const& c_;
  interval_classes classes_;
  value_list<std::int64_t> least_, enough_;
};

}  // namespace cairn::detail
