// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file src.hpp  The bodies of all functions that headers only declare with CAIRN_SEPARATE_COMPILATION. Exactly one
/// file of a program includes it.
#ifndef CAIRN_SEPARATE_COMPILATION
#error \
    "cairn: <cairn/impl/src.hpp> is for programs that define CAIRN_SEPARATE_COMPILATION in all their files; without it, headers hold the bodies"
#endif

#include <cairn/plan/block/impl/block_plan.ipp>
#include <cairn/plan/block/impl/block_planner.ipp>
#include <cairn/plan/block/impl/block_replay.ipp>
#include <cairn/plan/chain/impl/chain_planner.ipp>
#include <cairn/plan/chain/impl/replay.ipp>
#include <cairn/plan/graph/impl/graph_planner.ipp>
#include <cairn/plan/graph/impl/liveness.ipp>
#include <cairn/plan/graph/impl/replay.ipp>
#include <cairn/plan/loop/impl/advise.ipp>
#include <cairn/plan/loop/impl/explain.ipp>
#include <cairn/plan/loop/impl/pareto.ipp>
#include <cairn/plan/loop/impl/plan_within.ipp>
#include <cairn/plan/loop/impl/segments_within.ipp>
#include <cairn/plan/loop/impl/why_infeasible.ipp>
#include <cairn/plan/text/impl/actions_csv.ipp>
#include <cairn/plan/text/impl/chain_text.ipp>
#include <cairn/plan/text/impl/chain_words.ipp>
#include <cairn/plan/text/impl/figure_text.ipp>
#include <cairn/plan/text/impl/graph_words.ipp>
#include <cairn/plan/text/impl/memory_curve.ipp>
#include <cairn/plan/text/impl/memory_over_time.ipp>
#include <cairn/plan/text/impl/plan_text.ipp>
#include <cairn/profile/impl/profile_csv.ipp>
#include <cairn/profile/impl/profile_of.ipp>
#include <cairn/run/check/detail/impl/adjoint_check.ipp>
#include <cairn/run/check/detail/impl/number_counts.ipp>
#include <cairn/run/check/impl/check_gradient.ipp>
#include <cairn/run/check/impl/check_plans.ipp>
#include <cairn/run/check/impl/check_reversible.ipp>
#include <cairn/run/check/impl/report.ipp>
#include <cairn/schedule/impl/disk_revolve.ipp>
#include <cairn/schedule/impl/fingerprint.ipp>
#include <cairn/schedule/impl/hrevolve.ipp>
#include <cairn/schedule/impl/multistage.ipp>
#include <cairn/trace/impl/environment.ipp>
#include <cairn/trace/impl/progress.ipp>
#include <cairn/trace/impl/trace_observer.ipp>
#include <cairn/trace/impl/trace_region.ipp>
#include <cairn/trace/impl/trace_writer.ipp>
