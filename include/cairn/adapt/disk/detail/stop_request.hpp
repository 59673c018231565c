// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stop_request.hpp  Whether a run is asked to stop.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

namespace cairn::detail {

/// Of several processes all are asked if one is: they look together, about every half second.
template <class Agreement>
class stop_request {
 public:
  stop_request(std::function<bool()> const& asked, Agreement const& all) : stop_{asked}, together_{all} {}

  /// Whether anybody may ask for a stop.
  [[nodiscard]] bool is_asked() const noexcept { return bool(stop_); }
  [[nodiscard]] bool asks_to_stop() {
    if (!stop_) return false;
    if constexpr (!Agreement::together) return stop_();
    else {
      if (++asks_ < next_ask_) return false;
      auto const before = std::exchange(asked_at_, clock::now());
      double const passed = std::chrono::duration<double>(asked_at_ - before).count();
      std::int64_t const next = passed < 0.25 ? 2 * asks_ : passed < 1 ? asks_ : (std::max)(asks_ / 2, std::int64_t{1});
      asks_ = 0;
      next_ask_ = std::int64_t(together_.least(stop_() ? 0 : std::uint64_t(next)));
      return next_ask_ == 0;
    }
  }

 private:
  using clock = std::chrono::steady_clock;
  std::function<bool()> stop_;
  Agreement const& together_;
  std::int64_t asks_ = 0, next_ask_ = 1;  // since all looked
  clock::time_point asked_at_ = clock::now();
};

}  // namespace cairn::detail
