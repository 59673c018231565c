// SPDX-License-Identifier: Apache-2.0
// What every `cairn::device_runtime` must do, as far as copies can show it: the simulator and the real device run the
// same.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>
#include <cairn/adapt/cuda/detail/owned_handle.hpp>
#include <cairn/adapt/cuda/device_buffer.hpp>
#include <cairn/adapt/cuda/owned_stream.hpp>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/error.hpp>
#include "support/catch.hpp"

namespace device_conformance {

using cairn::copy_kind;

/// Bytes go to the device, round it and back, each leg in a stream of its own, ordered by events only.
template <cairn::device_runtime R>
void copies_follow_events(R& device, std::size_t numbers) {
  std::size_t const bytes = numbers * sizeof(std::uint32_t);
  cairn::pinned_buffer<R> const out{device, bytes}, back{device, bytes};
  cairn::device_buffer<R> const first{device, bytes}, second{device, bytes};
  cairn::owned_stream<R> const up{device}, round{device}, down{device};
  cairn::detail::owned_event<R> const sent{device}, moved{device}, fetched{device};
  auto* const written = static_cast<std::uint32_t*>(out.data());
  auto const* const read = static_cast<std::uint32_t const*>(back.data());
  std::memset(back.data(), 0, bytes);
  std::size_t wrong = 0;
  for (std::uint32_t turn = 1; turn <= 5; ++turn) {
    for (std::uint32_t k = 0; k < numbers; ++k) written[k] = k * 2654435761u + turn;
    device.copy(first.data(), written, bytes, copy_kind::host_to_device, up.get());
    device.record(sent.get(), up.get());
    device.wait(round.get(), sent.get());
    device.zero(second.data(), bytes, round.get());  // before the copy, which overwrites it
    device.copy(second.data(), first.data(), bytes, copy_kind::device_to_device, round.get());
    device.record(moved.get(), round.get());
    device.wait(down.get(), moved.get());
    device.copy(back.data(), second.data(), bytes, copy_kind::device_to_host, down.get());
    device.record(fetched.get(), down.get());
    if (turn % 2 == 0) device.sync(fetched.get());
    else
      while (!device.done(fetched.get())) {}
    for (std::uint32_t k = 0; k < numbers; ++k) wrong += read[k] == written[k] ? 0 : 1;
  }
  device.zero(second.data(), bytes, down.get());
  device.copy(back.data(), second.data(), bytes, copy_kind::device_to_host, down.get());
  device.sync(down.get());
  for (std::uint32_t k = 0; k < numbers; ++k) wrong += read[k] == 0 ? 0 : 1;
  CHECK(wrong == 0);
  for (auto const* const stream : {&up, &round, &down}) device.sync(stream->get());
}

/// Events that were not recorded, waits for records that are gone, and memory of no bytes.
template <cairn::device_runtime R>
void edges_hold(R& device) {
  cairn::owned_stream<R> const stream{device};
  cairn::detail::owned_event<R> const event{device};
  CHECK(device.done(event.get()));
  device.sync(event.get());
  device.wait(stream.get(), event.get());
  device.sync(stream.get());
  device.record(event.get(), stream.get());
  device.record(event.get(), stream.get());
  device.wait(stream.get(), event.get());
  device.sync(event.get());
  CHECK(device.done(event.get()));
  CHECK(device.device_alloc(0) == nullptr);
  CHECK(device.pinned_alloc(0) == nullptr);
  device.device_free(nullptr);
  device.pinned_free(nullptr);
  device.copy(nullptr, nullptr, 0, copy_kind::host_to_device, stream.get());
  device.zero(nullptr, 0, stream.get());
  for (std::size_t const bytes : {std::size_t{1}, std::size_t{257}, std::size_t{100'000}}) {
    cairn::device_buffer<R> const memory{device, bytes};
    cairn::pinned_buffer<R> const pinned{device, bytes};
    CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % 256 == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(pinned.data()) % 64 == 0);
  }
  device.sync(stream.get());
}

/// Memory is counted, and asking for more than there is does no harm.
template <cairn::device_runtime R>
void memory_runs_out(R& device) {
  std::size_t const free = device.free_bytes(), large = free / 4;
  {
    cairn::device_buffer<R> const memory{device, large};
    CHECK(device.free_bytes() <= free - large / 2);
  }
  CHECK_THROWS_AS((cairn::device_buffer<R>{device, 4 * free}), cairn::out_of_memory);
  CHECK_THROWS_AS((cairn::pinned_buffer<R>{device, std::size_t{1} << 46}), cairn::out_of_memory);
  copies_follow_events(device, 1'000);
}

}  // namespace device_conformance
