#pragma once
/// \file chains.hpp  Everything about chains of stages that differ: planners, blocks, graphs and executors. Not in
/// cairn.hpp, for short compilations.
#include <cairn/language.hpp>  // first: the sentence that an older language gets

#include <cairn/core/chain.hpp>
#include <cairn/plan/block/block_executor.hpp>
#include <cairn/plan/block/block_plan.hpp>
#include <cairn/plan/block/block_planner.hpp>
#include <cairn/plan/chain/chain_options.hpp>
#include <cairn/plan/chain/chain_plan.hpp>
#include <cairn/plan/chain/chain_planner.hpp>
#include <cairn/plan/chain/replay.hpp>
#include <cairn/plan/graph/graph_planner.hpp>
#include <cairn/plan/graph/liveness.hpp>
#include <cairn/run/chain.hpp>
