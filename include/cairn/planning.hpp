// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file planning.hpp  Everything about plans: all schedules, and the functions that choose, check and compare them.
/// Not part of cairn.hpp, which stays fast to compile.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cairn/plan/loop/advise.hpp>
#include <cairn/plan/loop/certificate.hpp>
#include <cairn/plan/loop/detail/workload.hpp>
#include <cairn/plan/loop/estimate.hpp>
#include <cairn/plan/loop/explain.hpp>
#include <cairn/plan/loop/most_slots.hpp>
#include <cairn/plan/loop/online_within.hpp>
#include <cairn/plan/loop/pareto.hpp>
#include <cairn/plan/loop/plan_within.hpp>
#include <cairn/plan/loop/planned.hpp>
#include <cairn/plan/loop/planning_options.hpp>
#include <cairn/plan/loop/savings.hpp>
#include <cairn/plan/loop/segments_within.hpp>
#include <cairn/plan/loop/verified.hpp>
#include <cairn/plan/loop/verify.hpp>
#include <cairn/plan/loop/why_infeasible.hpp>
#include <cairn/schedule/action_list.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/fingerprint.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/multistage.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/remaining.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/runge_kutta.hpp>
#include <cairn/schedule/segments.hpp>
#include <cairn/schedule/slots_for.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>
