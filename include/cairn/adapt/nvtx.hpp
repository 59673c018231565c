// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file nvtx.hpp  Shows the actions of a sweep as ranges on the timeline of NVIDIA's profilers, by NVTX 3.
#include <cairn/language.hpp>  // first: an older language gets its message

#include <cstddef>
#include <cstdint>
#include <utility>
#include <nvtx3/nvToolsExt.h>
#include <cairn/core/action.hpp>
#include <cairn/core/detail/text.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/wide.hpp>

namespace cairn {
namespace detail {

/// The domain "cairn"; null if no tool is attached.
[[nodiscard]] inline nvtxDomainHandle_t nvtx_domain() {
  static nvtxDomainHandle_t const domain = nvtxDomainCreateA("cairn");
  return domain;
}

/// The name of a range: "advance [3, 7)", "save 3 to host", "drop slot 2".
[[nodiscard]] inline text<80> name_of_range(action const& a) {
  text<80> name;
  auto const steps = [&](char const* kind) {
    name.add(kind).add(" [").add(wide(a.from)).add(", ").add(wide(a.to)).add(")");
  };
  auto const kept = [&](char const* kind, char const* on) {
    name.add(kind).add(wide(a.from));
    if (a.what == content::tape) name.add(", a tape");
    else if (a.where != tier::memory)
      name.add(on).add(a.where == tier::device ? "device" : a.where == tier::host ? "host" : "disk");
  };
  switch (a.kind) {
    case action_kind::advance: steps("advance"); break;
    case action_kind::record: steps("record"); break;
    case action_kind::turn: steps("turn"); break;
    case action_kind::reverse: steps("reverse"); break;
    case action_kind::save: kept("save ", " to "); break;
    case action_kind::load: kept("load ", " from "); break;
    case action_kind::drop:
      name.add(a.what == content::tape ? "drop tape slot " : "drop slot ").add(wide(a.slot));
      break;
    case action_kind::done: break;
  }
  return name;
}

/// Green, orange and blue, as 0xAARRGGBB.
[[nodiscard]] constexpr std::uint32_t colour_of(phase where) noexcept {
  return where == phase::forward ? 0xff3a9d5d : where == phase::recompute ? 0xffe08a1e : 0xff3b6fb6;
}

}  // namespace detail

/// An observer that makes a range of every action, in the NVTX domain "cairn". The name says what is done to which
/// steps; the colour is green in the forward part, orange if steps run again and blue if adjoints run: `gradient(step,
/// x0, plan, seed, adjoint, cairn::nvtx_ranges{})`. Also the last argument of `device_sweep::gradient`: there a range
/// covers what the host puts into streams, and Nsight Systems also shows it on the device.
///
/// One object per sweep, used by one thread; ranges that an exception leaves open are closed when the object is
/// destroyed. Your own ranges inside steps nest. Cost: one comparison per action if no tool is attached.
class nvtx_ranges {
 public:
  nvtx_ranges() = default;
  /// Takes over the open ranges.
  nvtx_ranges(nvtx_ranges&& other) noexcept : domain_{other.domain_}, open_{std::exchange(other.open_, 0)} {}
  nvtx_ranges& operator=(nvtx_ranges&&) = delete;
  /// Closes the open ranges.
  ~nvtx_ranges() {
    while (open_ > 0) pop();
  }

  /// Begins a range before an action, and ends it after the action.
  void operator()(event const& seen) {
    if (domain_ == nullptr || seen.what().kind == action_kind::done) return;
    if (seen.moment() == moment::before) push(seen);
    else if (open_ > 0) pop();
  }

 private:
  void push(event const& seen) {
    auto const name = detail::name_of_range(seen.what());
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.colorType = NVTX_COLOR_ARGB;
    attributes.color = detail::colour_of(seen.phase());
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name.c_str();
    nvtxDomainRangePushEx(domain_, &attributes);
    ++open_;
  }
  void pop() noexcept {
    nvtxDomainRangePop(domain_);
    --open_;
  }

  nvtxDomainHandle_t domain_ = detail::nvtx_domain();
  std::size_t open_ = 0;
};

}  // namespace cairn
