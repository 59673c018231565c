// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file chains.hpp  Everything about chains of different stages: planners, blocks, graphs and executors. Not part of
/// cairn.hpp, which stays fast to compile.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/block_planner.hpp>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/chain/replay.hpp>
#include <cairn/plan/graph/graph_budget.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/liveness.hpp>
#include <cairn/rules/chain.hpp>
#include <cairn/run/block_executor.hpp>
#include <cairn/run/chain.hpp>
#include <cairn/run/graph.hpp>
