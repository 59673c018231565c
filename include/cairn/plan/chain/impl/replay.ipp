// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cairn/plan/chain/detail/chain_interpreter.hpp>
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/replay.hpp>

namespace cairn {

CAIRN_DECL chain_cost replay(chain const& work, std::span<action const> actions,
                             std::span<chain_tier const> elsewhere) {
  constexpr char const* who = "cairn::replay";
  return detail::replay(detail::chain_model{work, who}, actions, elsewhere, who);
}

}  // namespace cairn
