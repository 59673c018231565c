// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_copies.hpp  Copies a state's runs of bytes: device memory in a stream, host memory immediately.
#include <cstddef>
#include <cstring>
#include <vector>
#include <cairn/adapt/cuda/runtime.hpp>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>

namespace cairn::detail {

/// Where a state's runs are placed in memory that holds a copy of it: runs of device memory at multiples of 64 bytes;
/// runs of host memory separately.
class state_layout {
 public:
  struct run {
    std::size_t bytes = 0, offset = 0;
    bool on_device = false;
  };

  template <class State>
  explicit state_layout(State const& like) {
    each_raw(like, [this](void const*, std::size_t bytes, bool on_device) {
      std::size_t& end = on_device ? device_bytes_ : host_bytes_;
      if (on_device) end = (end + alignment - 1) / alignment * alignment;
      runs_.push_back({bytes, end, on_device});
      end += bytes;
    }, structure_);
  }

  [[nodiscard]] std::size_t device_bytes() const noexcept { return device_bytes_; }
  [[nodiscard]] std::size_t host_bytes() const noexcept { return host_bytes_; }
  [[nodiscard]] std::vector<run> const& runs() const noexcept { return runs_; }
  /// Distance between consecutive copies.
  [[nodiscard]] std::size_t stride() const noexcept { return (device_bytes_ + alignment - 1) / alignment * alignment; }

  /// Calls f(address, run) for each run of a state, as void const* if it is const.   \throws invalid_call   if its runs
  /// differ from these
  template <class State, class Fn>
  void each(State& x, Fn f) const {
    std::size_t k = 0;
    state_hash structure;
    auto const refuse = [&](std::size_t bytes) {
      throw invalid_call{
          "cairn::device_sweep",
          "a state has different buffers from the first frame",
          {{"buffer", k}, {"bytes", bytes}, {"bytes of the first frame's", k < runs_.size() ? runs_[k].bytes : 0}},
          "make all frames alike, and let no step change the sizes of what a state holds"};
    };
    each_raw(x, [&](auto* address, std::size_t bytes, bool on_device) {
      if (k == runs_.size() || runs_[k].bytes != bytes || runs_[k].on_device != on_device) refuse(bytes);
      f(address, runs_[k++]);
    }, structure);
    if (k != runs_.size() || structure.value() != structure_.value()) refuse(0);  // such as {{"a"}, {}} for {{}, {"a"}}
  }

 private:
  static constexpr std::size_t alignment = 64;

  template <class State, class Fn>
  static void each_raw(State& x, Fn f, state_hash& into) {
    using address = std::conditional_t<std::is_const_v<State>, void const, void>;
    struct visitor {
      Fn& f;
      state_hash& into;
      void structure(std::uint64_t count) { into.structure(count); }
      void operator()(device_pointer<address> at, std::size_t bytes) { f(at.get(), bytes, true); }
      void operator()(address* at, std::size_t bytes) { f(at, bytes, false); }
    };
    visit_buffers(x, visitor{f, into});
  }

  std::vector<run> runs_;
  state_hash structure_;  // lengths and what optionals hold, where no run shows them
  std::size_t device_bytes_ = 0, host_bytes_ = 0;
};

/// Copies states from frame to frame.
template <device_runtime Runtime, class State>
class state_copier {
 public:
  explicit state_copier(state_layout layout)
      : layout_{static_cast<state_layout&&>(layout)}, source_(layout_.runs().size()), host_(layout_.host_bytes()) {}

  [[nodiscard]] state_layout const& layout() const noexcept { return layout_; }

  /// `to` becomes a copy of `from`: device memory in the stream, the rest immediately.
  void copy(Runtime& runtime, State const& from, State& to, typename Runtime::stream stream) {
    std::size_t k = 0;
    layout_.each(from, [&](void const* at, state_layout::run const& run) {
      source_[k++] = at;
      if (!run.on_device && run.bytes > 0) std::memcpy(host_.data() + run.offset, at, run.bytes);
    });
    k = 0;
    layout_.each(to, [&](void* at, state_layout::run const& run) {
      void const* const source = source_[k++];
      if (run.bytes == 0) return;
      if (run.on_device) runtime.copy(at, source, run.bytes, copy_kind::device_to_device, stream);
      else std::memcpy(at, host_.data() + run.offset, run.bytes);
    });
  }

 private:
  state_layout layout_;
  std::vector<void const*> source_;
  std::vector<unsigned char> host_;
};

}  // namespace cairn::detail
