// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file state_bytes.hpp  A state as bytes that hold its shape, for stores that keep bytes, and the state again.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <cairn/core/buffers.hpp>
#include <cairn/core/detail/state_reader.hpp>
#include <cairn/core/detail/traits.hpp>
#include <cairn/core/detail/written.hpp>

namespace cairn {
namespace detail {

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

}  // namespace detail

/// A state that `write_state` writes and `read_state` reads: all that `visit_buffers` takes and of which everything is
/// known, and variants, maps, sets and paths, in any nesting, on the host. Not known are views, device memory, classes
/// with private members that may have padding, and classes that show elements but may hold more. These say it in
/// `state_traits`, by `write(x, sink)` and `read(x, source)`, or by members, `write_state(sink) const` and
/// `read_state(source)`; they give one byte or more.
template <class T>
concept written_state = detail::can_write<std::remove_const_t<T>>();
/// Takes runs of bytes by `sink(void const*, std::size_t)`, or throws. Returns nothing, so that no error code is lost.
template <class T>
concept byte_sink = requires(T& sink, void const* run, std::size_t bytes) {
  { sink(run, bytes) } -> std::same_as<void>;
};
/// Fills runs of bytes by `source(void*, std::size_t)`, each of them whole, or throws. `left()` is how many bytes it
/// still has: no length is believed beyond that.
template <class T>
concept byte_source = requires(T& source, void* run, std::size_t bytes) {
  { source(run, bytes) } -> std::same_as<void>;
  { source.left() } -> std::convertible_to<std::uint64_t>;
};

/// Writes all of x, its shape included, for `read_state`. Runs of plain elements go to the sink as they lie in the
/// state; those of fewer than 128 bytes are gathered on the stack first. Nothing is allocated. Padding is left out.
/// Lengths, whether an optional holds a value, and the number of an alternative are 8 bytes, the lowest first; numbers
/// are as in this kind of machine. Equal values of ordered types have equal bytes. Runs that a type shows by its own
/// `visit_buffers` come with their lengths.
template <class T, class Sink>
void write_state(T const& x, Sink&& sink) {
  using sink_type = std::remove_reference_t<Sink>;
  constexpr bool known = written_state<T>;
  constexpr bool takes = byte_sink<sink_type>;
  static_assert(known,
                "cairn: not all bytes of this state can be written and read back; give it members write_state(sink) "
                "const and read_state(source), or specialise cairn::state_traits with write(state, sink) and "
                "read(state, source)");
  static_assert(takes,
                "cairn: a sink of bytes is called as sink(void const*, std::size_t), returns nothing, and throws if it "
                "cannot take all of them");
  if constexpr (known && takes) {
    if constexpr (detail::takes_written<sink_type, int>) detail::visit_parts(x, sink);
    else {
      detail::state_writer<sink_type> all{sink};
      detail::visit_parts(x, all);
      all.flush();
    }
  }
}

/// x becomes the state that `write_state` wrote, with the same bits; unordered containers list their elements in the
/// order in which they were written. x may have any shape: its memory is reused where a fresh copy would have as much,
/// elsewhere released before new memory is taken, so that there is never a second state. An element without a default
/// constructor is made as a copy of one that x holds there: read into a copy of the initial state. Runs that a type
/// shows by its own `visit_buffers` must have the lengths that were written.
/// \throws invalid_bytes   if the bytes are cut off, are not those of a `T`, have a shape that x cannot take, or more
/// than 1,000 levels of a type that contains itself; x then holds some state. Memory is taken for no more elements than
/// the bytes left can be. Numbers may have any bits, and a class whose members are private is taken as it is: whoever
/// stores bytes keeps a checksum.
/// \throws invalid_call   if x holds no element to copy
template <class T, class Source>
void read_state(T& x, Source&& source) {
  using source_type = std::remove_reference_t<Source>;
  constexpr bool known = written_state<T> && !std::is_const_v<T>;
  constexpr bool fills = byte_source<source_type>;
  static_assert(known,
                "cairn: not all bytes of this state can be written and read back; give it members write_state(sink) "
                "const and read_state(source), or specialise cairn::state_traits with write(state, sink) and "
                "read(state, source)");
  static_assert(fills,
                "cairn: a source of bytes is called as source(void*, std::size_t), returns nothing, fills all of them "
                "or throws, and says by left() how many bytes are left");
  if constexpr (known && fills) {
    if constexpr (detail::is_state_reader<source_type>) source.read(x);
    else detail::state_reader<source_type>{source}.read(x);
  }
}

/// How many bytes `write_state` gives for x. Cost: proportional to the number of runs, not of bytes.
template <class T>
[[nodiscard]] std::size_t written_bytes(T const& x) {
  std::size_t sum = 0;
  write_state(x, [&sum](void const*, std::size_t bytes) { sum += bytes; });
  return sum;
}

}  // namespace cairn
