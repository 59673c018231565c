// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/error.hpp>
#include <cairn/schedule/fingerprint.hpp>

namespace cairn {
namespace detail {

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
