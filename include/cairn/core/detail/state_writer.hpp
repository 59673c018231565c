// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_writer.hpp  A visitor of a state's parts that writes its bytes and its shape to a sink.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/detail/written.hpp>

namespace cairn::detail {

/// What a type that only shows its runs calls when it is written: each run gets its length. Parts whose shape is known
/// are written as everywhere.
template <class Writer>
struct shown_writer {
  Writer& out;
  void structure(std::uint64_t count) { out.structure(count); }
  void operator()(void const* run, std::size_t size) {
    out.structure(size);
    out(run, size);
  }
  template <class T>
    requires(can_write<T>())
  void whole(T const& x) { visit_parts(x, out); }
};

/// Long runs go to the sink as they lie in the state; short ones are gathered first.
template <class Sink>
class state_writer {
 public:
  template <class> static constexpr bool takes_written = true;
  explicit state_writer(Sink& sink) noexcept : sink_{sink} {}
  state_writer(state_writer const&) = delete;  // a copy would write what this one has gathered
  state_writer& operator=(state_writer const&) = delete;

  void operator()(void const* run, std::size_t size) {
    if (size == 0) return;
    if (size > sizeof gathered_ - used_ || size >= long_run) flush();
    if (size >= long_run) return sink_(run, size);
    std::memcpy(gathered_ + used_, run, size);
    used_ += size;
  }
  void structure(std::uint64_t count) {
    unsigned char bytes[8];
    for (std::size_t k = 0; k < 8; ++k) bytes[k] = static_cast<unsigned char>(count >> 8 * k & 0xff);
    (*this)(bytes, sizeof bytes);
  }
  template <class T>
    requires(shows_itself<T> || unordered_like<T>)
  void whole(T const& x) {
    if constexpr (shows_itself<T>) {
      shown_writer<state_writer> show{*this};
      if constexpr (traited_buffers<T const>) state_traits<T>::visit_buffers(x, show);
      else x.visit_buffers(show);
    } else {
      structure(x.size());
      structure(x.bucket_count());
      static constexpr unsigned char one = 0;  // a byte a bucket, so that the number of buckets can be believed, too
      for (std::size_t k = 0; k < x.bucket_count(); ++k) (*this)(&one, 1);
      for (auto const& element : x) visit_parts(element, *this);
    }
  }
  void flush() {
    if (std::size_t const size = used_; size > 0) {
      used_ = 0;
      sink_(static_cast<void const*>(gathered_), size);
    }
  }

 private:
  static constexpr std::size_t long_run = 128;
  Sink& sink_;
  std::size_t used_ = 0;
  unsigned char gathered_[512];
};

}  // namespace cairn::detail
