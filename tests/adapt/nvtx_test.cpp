// SPDX-License-Identifier: Apache-2.0
// The ranges that `nvtx_ranges` makes, as a profiler hears them: the test plays the tool that NVTX injects into a
// program.
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <nvtx3/nvToolsExt.h>
#include <cairn/adapt/cuda/sweep.hpp>
#include <cairn/adapt/nvtx.hpp>
#include <cairn/run/gradient.hpp>
#include <cairn/run/while.hpp>
#include <cairn/schedule/any.hpp>
#include <cairn/schedule/hrevolve.hpp>
#include <cairn/schedule/online.hpp>
#include <cairn/schedule/revolve.hpp>
#include <cairn/schedule/two_level.hpp>
#include <cairn/schedule/uniform.hpp>
#include "support/catch.hpp"
#include "support/kernels.hpp"
#include "support/plans.hpp"
#include "support/sim_states.hpp"

using namespace cairn;

namespace {

struct range {
  std::string name;
  std::uint32_t colour;
  std::size_t depth;
  std::string domain;
};
/// What the tool has heard.
struct heard {
  std::vector<std::string> domains;  // a handle is the number of one, from 1
  std::vector<range> ranges;
  std::size_t depth = 0, most = 0, pops_of_none = 0;
};
heard tool;

nvtxDomainHandle_t create(char const* name) {
  tool.domains.emplace_back(name);
  return reinterpret_cast<nvtxDomainHandle_t>(tool.domains.size());
}
int push(nvtxDomainHandle_t domain, nvtxEventAttributes_t const* attributes) {
  bool const whole = attributes->version == NVTX_VERSION && attributes->size == NVTX_EVENT_ATTRIB_STRUCT_SIZE &&
                     attributes->messageType == NVTX_MESSAGE_TYPE_ASCII && attributes->colorType == NVTX_COLOR_ARGB;
  auto const number = reinterpret_cast<std::uintptr_t>(domain);
  tool.ranges.push_back({whole ? attributes->message.ascii : "attributes are missing", attributes->color, tool.depth,
                         number == 0 || number > tool.domains.size() ? "none" : tool.domains[number - 1]});
  if (++tool.depth > tool.most) tool.most = tool.depth;
  return int(tool.depth) - 1;
}
int pop(nvtxDomainHandle_t) {
  if (tool.depth == 0) return ++tool.pops_of_none, -1;
  return int(--tool.depth);
}

int inject(NvtxGetExportTableFunc_t table_of) {
  auto const* const callbacks = static_cast<NvtxExportTableCallbacks const*>(table_of(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(&create);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(&push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(&pop);
  return 1;
}

/// Begins to listen anew.
void listen() { tool.ranges.clear(), tool.depth = tool.most = tool.pops_of_none = 0; }

/// The names that a plan's actions should have.
std::vector<std::string> names_of(auto const& plan) {
  std::vector<std::string> names;
  for (action const& a : actions_of(plan)) {
    auto const steps = " [" + std::to_string(a.from) + ", " + std::to_string(a.to) + ")";
    char const* const tiers[] = {"", "device", "host", "disk"};
    auto const at = [&](char const* word) {
      return a.where == tier::memory ? std::string{} : std::string{word} + tiers[std::size_t(a.where)];
    };
    switch (a.kind) {
      case action_kind::advance: names.push_back("advance" + steps); break;
      case action_kind::turn: names.push_back("turn" + steps); break;
      case action_kind::reverse: names.push_back("reverse" + steps); break;
      case action_kind::save: names.push_back("save " + std::to_string(a.from) + at(" to ")); break;
      case action_kind::load: names.push_back("load " + std::to_string(a.from) + at(" from ")); break;
      case action_kind::drop: names.push_back("drop slot " + std::to_string(a.slot)); break;
      default: break;
    }
  }
  return names;
}
std::vector<std::string> names_heard() {
  std::vector<std::string> names;
  for (range const& one : tool.ranges) names.push_back(one.name);
  return names;
}
void check_heard(auto const& plan) {
  CHECK(names_heard() == names_of(plan));
  CHECK(tool.depth == 0);
  CHECK(tool.pops_of_none == 0);
  for (range const& one : tool.ranges) {
    if (one.domain != "cairn") FAIL(one.name << " in domain " << one.domain);
    bool const adjoint = one.name.compare(0, 7, "reverse") == 0;
    if (adjoint != (one.colour == detail::colour_of(phase::reverse))) FAIL(one.name << " has another colour");
  }
  CHECK(tool.domains.size() == 1);
}

std::vector<any_schedule> plans_of(step_index n) { return {store_all(n), revolve{n, 1}, revolve{n, 3}, uniform{n}}; }

auto const step = [](kernels::vec2& x, step_index i) { kernels::step(x.data(), i); };
auto const adjoint = [](kernels::vec2 const& x, kernels::vec2& bar, step_index i) {
  kernels::adjoint(x.data(), bar.data(), i);
};
auto const seed = [](kernels::vec2 const& last) { return kernels::seed(last.data()); };

/// NVTX looks there at its first call.
[[maybe_unused]] auto const injected = InitializeInjectionNvtx2_fnptr = &inject;

}  // namespace

TEST_CASE("every action of a sweep is a range of its own, in the domain cairn", "[adapt][nvtx]") {
  for (step_index const n : {0, 1, 2, 23})
    for (auto const& plan : plans_of(n)) {
      CAPTURE(n, plan.slots());
      listen();
      auto const with = gradient(step, kernels::start, plan, seed, adjoint, nvtx_ranges{});
      check_heard(plan);
      CHECK(tool.most == 1);
      CHECK(with == gradient(step, kernels::start, plan, seed, adjoint));
    }
}

TEST_CASE("ranges are coloured by the part of the sweep", "[adapt][nvtx]") {
  listen();
  static_cast<void>(gradient(step, kernels::start, revolve{9, 2}, seed, adjoint, nvtx_ranges{}));
  bool turned = false;
  std::size_t again = 0;
  for (range const& one : tool.ranges) {
    bool const runs = one.name.compare(0, 7, "advance") == 0;
    if (runs) CHECK(one.colour == detail::colour_of(turned ? phase::recompute : phase::forward));
    again += runs && turned ? 1 : 0;
    turned = turned || one.name.compare(0, 4, "turn") == 0;
  }
  CHECK(again > 0);
}

TEST_CASE("every action of a sweep on a device is a range, with the tier of its slot", "[adapt][nvtx]") {
  using field = sim::state<sim_runtime>;
  std::vector<any_schedule> const plans = {two_level{13, 4, 2, {.periods_on = tier::host, .extra_on = tier::device}},
                                           hrevolve{13, {{2, 0, 0, tier::device}, {3, 0.5, 0.25, tier::host}}},
                                           store_all(1), store_all(0)};
  for (auto const& plan : plans) {
    sim_runtime device;
    auto const c = device.make_stream();
    {
      sim::loop<sim_runtime> loop{device};
      field bar{device, {3}};
      device_sweep<sim_runtime, field> sweep{device, c, device_capacity_for(plan), [&] { return field{device, {3}}; }};
      listen();
      sweep.gradient(loop.step(), loop.start(), plan, loop.seed(), loop.adjoint(), bar, nvtx_ranges{});
      check_heard(plan);
      device.sync(c);
    }
    device.destroy(c);
    CHECK(device.faults() == 0);
  }
  listen();
  CHECK(detail::name_of_range({action_kind::save, tier::device, content::state, 2, 12, 0}).c_str() ==
        std::string{"save 12 to device"});
  CHECK(detail::name_of_range({action_kind::load, tier::disk, content::state, 2, 12, 0}).c_str() ==
        std::string{"load 12 from disk"});
  CHECK(detail::name_of_range({action_kind::load, tier::memory, content::tape, 2, 12, 0}).c_str() ==
        std::string{"load 12, a tape"});
  CHECK(detail::name_of_range({action_kind::drop, tier::memory, content::tape, 2, 0, 0}).c_str() ==
        std::string{"drop tape slot 2"});
  CHECK(detail::name_of_range({action_kind::record, tier::memory, content::tape, 2, 4'000'000'000, 4'000'000'001})
            .c_str() == std::string{"record [4000000000, 4000000001)"});
}

TEST_CASE("ranges of the user's own within steps nest in the action's", "[adapt][nvtx]") {
  listen();
  nvtxDomainHandle_t const own = nvtxDomainCreateA("mine");
  auto const marked = [&](kernels::vec2& x, step_index i) {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.colorType = NVTX_COLOR_ARGB;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = "inner";
    nvtxDomainRangePushEx(own, &attributes);
    step(x, i);
    nvtxDomainRangePop(own);
  };
  static_cast<void>(gradient(marked, kernels::start, revolve{9, 2}, seed, adjoint, nvtx_ranges{}));
  std::size_t inner = 0;
  for (range const& one : tool.ranges) {
    bool const is_inner = one.name == "inner";
    inner += is_inner ? 1 : 0;
    CHECK(one.depth == (is_inner ? 1u : 0u));
    CHECK(one.domain == (is_inner ? "mine" : "cairn"));
  }
  CHECK(inner >= 9);
  CHECK(tool.depth == 0);
  tool.domains.resize(1);
}

TEST_CASE("what an exception leaves open is closed when the observer ends", "[adapt][nvtx]") {
  for (step_index at = 0; at < 7; ++at) {
    listen();
    auto const throws = [&](kernels::vec2 const& x, kernels::vec2& bar, step_index i) {
      if (i == at) throw std::runtime_error{"planned"};
      adjoint(x, bar, i);
    };
    CHECK_THROWS_AS(gradient(step, kernels::start, revolve{7, 2}, seed, throws, nvtx_ranges{}), std::runtime_error);
    CHECK(tool.ranges.back().name == "reverse [" + std::to_string(at) + ", " + std::to_string(at + 1) + ")");
    CHECK(tool.depth == 0);
    CHECK(tool.pops_of_none == 0);
  }
}

TEST_CASE("an observer that is moved into a loop ends once", "[adapt][nvtx]") {
  listen();
  {
    auto run = checkpointed_while(
        step, kernels::start, [](kernels::vec2 const&, step_index i) { return i < 9; }, online{3}, nvtx_ranges{});
    CHECK(tool.depth == 0);
    static_cast<void>(run.reverse(seed, adjoint));
  }
  CHECK(tool.ranges.size() > 18);
  CHECK(tool.depth == 0);
  CHECK(tool.pops_of_none == 0);
  listen();
  {
    std::optional<nvtx_ranges> first{std::in_place};
    action const a{action_kind::advance, tier::memory, content::state, no_slot, 0, 3};
    event::source const none{};
    (*first)(event{a, phase::forward, moment::before, none});
    nvtx_ranges const second{std::move(*first)};
    first.reset();
    CHECK(tool.depth == 1);
  }
  CHECK(tool.depth == 0);
  CHECK(tool.pops_of_none == 0);
}
