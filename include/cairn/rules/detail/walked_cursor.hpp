// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file walked_cursor.hpp  Access to a cursor during a walk, in registers if possible.
#include <type_traits>

namespace cairn::detail {

/// Holds a cursor during a walk. A small trivially copyable cursor is copied into this object, which the compiler keeps
/// in registers. The destructor copies it back, also after an exception.
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
