#pragma once
/// \file planning.hpp  Everything about plans: all schedules, and what chooses, checks and compares them. Not in cairn.hpp, for short compilations.
#include <cairn/language.hpp>  // first: the sentence that an older language gets

#include <cairn/plan/advise.hpp>
#include <cairn/plan/certificate.hpp>
#include <cairn/plan/custom.hpp>
#include <cairn/plan/estimate.hpp>
#include <cairn/plan/explain.hpp>
#include <cairn/plan/most_slots.hpp>
#include <cairn/plan/pareto.hpp>
#include <cairn/plan/plan_within.hpp>
#include <cairn/plan/planned.hpp>
#include <cairn/plan/planning_options.hpp>
#include <cairn/plan/savings.hpp>
#include <cairn/plan/verify.hpp>
#include <cairn/plan/why_infeasible.hpp>
#include <cairn/plan/workload.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/bptt.hpp>
#include <cairn/schedule/disk_revolve.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/leaves.hpp>
#include <cairn/schedule/listed.hpp>
#include <cairn/schedule/mixed.hpp>
#include <cairn/schedule/multistage.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/remaining.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/slots_for.hpp>
#include <cairn/schedule/stages.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>
