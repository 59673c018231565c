// SPDX-License-Identifier: Apache-2.0
#pragma once
// The recurrence of persistent plans word by word, in bytes, with nothing but a map.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <cairn/plan/chain/detail/chain_model.hpp>

namespace brute {

/// The least time of stages run again, for small chains.
class chain_recursion {
 public:
  static constexpr std::int64_t impossible = cairn::detail::endless;

  /// \param keeps_tapes  whether a tape may live longer than during its own adjoint
  explicit chain_recursion(cairn::detail::chain_model c, bool keeps_tapes = true)
      : c_{std::move(c)}, keeps_tapes_{keeps_tapes} {}
  [[nodiscard]] std::optional<std::int64_t> extra_forward(std::int64_t budget) {
    std::int64_t const found = extra_forward(0, c_.stages, budget);
    if (found == impossible) return {};
    return found;
  }
  /// Of stages s..t with m bytes free, the adjoint of state t+1 among them; state s is kept outside of m.
  [[nodiscard]] std::int64_t extra_forward(std::int64_t s, std::int64_t t, std::int64_t m) {
    if (m < 0) return impossible;
    auto const [found, fresh] = known_.try_emplace({s, t, m}, impossible);
    if (!fresh) return found->second;
    std::size_t const i = std::size_t(s);
    std::int64_t const adjoint = c_.g[std::size_t(t) + 1];
    std::int64_t best = impossible;
    bool const records = m >= std::max(adjoint + c_.s[i] + c_.f[i], c_.g[i + 1] + c_.s[i] + c_.b[i]);
    if (records && (keeps_tapes_ || s == t)) best = s == t ? 0 : extra_forward(s + 1, t, m - c_.s[i]);
    for (std::int64_t j = s + 1; j <= t; ++j) {
      std::size_t const k = std::size_t(j) - 1;
      if (m < adjoint + (k == i ? 0 : c_.x[k]) + c_.x[k + 1] + c_.f[k]) break;
      best = std::min({best, impossible,
                       c_.run(s, j) + extra_forward(j, t, m - c_.x[std::size_t(j)]) + extra_forward(s, j - 1, m)});
    }
    return known_[{s, t, m}] = best;
  }

 private:
  cairn::detail::chain_model c_;
  bool keeps_tapes_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> known_;
};

}  // namespace brute
