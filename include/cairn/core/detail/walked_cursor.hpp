#pragma once
/// \file walked_cursor.hpp  A cursor while it is walked: in registers, where it can be.
#include <type_traits>

namespace cairn::detail {

/// A cursor for as long as somebody walks it. A small plain value is walked as a local object, which the compiler keeps
/// in registers, and goes home however the walk ends.
template <class Cursor, bool = std::is_trivially_copyable_v<Cursor> && sizeof(Cursor) <= 128>
struct walked_cursor {
  Cursor& now;
};
template <class Cursor>
struct walked_cursor<Cursor, true> {
  explicit walked_cursor(Cursor& from) noexcept : now{from}, home{from} {}
  walked_cursor(walked_cursor const&) = delete;
  ~walked_cursor() { home = now; }
  Cursor now;
  Cursor& home;
};

}  // namespace cairn::detail
