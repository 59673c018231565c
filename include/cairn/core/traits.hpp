// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file traits.hpp  What a type may declare about itself as a state, in `state_traits` or in members of its own.
#include <cairn/language.hpp>

namespace cairn {
namespace detail {
/// Elements from a pointer on, or by their numbers, and how many there are.
template <class T>
concept shows_elements =
    (requires(T& x) { *x.memptr(); } || requires(T& x) { x.data()[0]; } || requires(T& x) { x[sizeof x]; }) &&
    (requires(T const& x) { x.num_elements(); } || requires(T const& x) { x.n_elem; } ||
     requires(T const& x) { x.size(); });
}  // namespace detail

/// Specialise for types you do not own. All members are static and optional; each takes precedence over the type's own:
/// - `copy(from, into)`: into becomes a deep copy of from. Needs a default constructor: a new state is
///   default-constructed and then copied into. Used for every copy that cairn makes of such a value, also of a seed or
///   of a parameter by value
/// - `save(state) -> snapshot` with `restore(state, snapshot)`: for objects that cannot be copied
/// - `save(state, snapshot)` besides these two: overwrites all of an old snapshot, so that a warm sweep allocates
///   nothing
/// - `bytes(state) -> std::size_t`: sizeof and everything on the heap, spare capacity included
/// - `visit_buffers(state, f)`: calls f(void*, std::size_t) for each run of plain bytes, void const* for a const state;
///   see `visit_buffers`
/// - `in_device_memory = true`: some runs lie in device memory; for these `visit_buffers` calls f(device_pointer<void>,
///   std::size_t), void const for a const state
/// - `write(state, sink)` with `read(state, source)`: all bytes of the state, its shape included, to `sink(void const*,
///   std::size_t)`, and from `source(void*, std::size_t)` into a state of any shape; `write_state(part, sink)` and
///   `read_state(part, source)` do it for parts. `source.left()` is how many bytes there still are: check each length
///   that was read before memory is taken for it. Replay checks and other hashes are of these bytes where the type does
///   not show itself, so that equal values have to give equal ones
/// - `visit_numbers(state, f)`: calls f(T*, std::size_t) for each run of floating-point numbers; see `visit_numbers`
/// Structs with bit-fields, packed members or unions cannot be taken apart: specialise `copy`, `bytes` and
/// `visit_buffers` for them. A type you own has `save()`, `save(snapshot)`, `restore(snapshot)`, `bytes()`,
/// `visit_buffers(f)`, `in_device_memory`, `write_state(sink)`, `read_state(source)` and `visit_numbers(f)` as members
/// instead, and is copied by `=`.
template <class T>
struct state_traits {};

/// Declares that a `T` of another library owns its elements, and nothing else that changes from step to step:
/// `template <> struct cairn::state_traits<T> : cairn::flat<T> {};`
///
/// Bytes, budgets, hashes, replay checks, numbers, devices and stores of bytes follow. The elements are numbers, or
/// whatever is itself a state: those from `memptr()` or `data()` on, or else x[0], x[1] ...; there are `num_elements()`,
/// `n_elem` or `size()` of them. Bytes are sizeof(T) and, where the elements do not lie in the object, those of
/// `capacity()` or of all elements; add `bytes(x)` for a type that holds more. A stored state is read into one of as
/// many elements, such as a copy of the initial state; where their number changes, add `static void resize(T& x,
/// std::size_t count)`. Shapes of equal size are not told apart: where they change, give `visit_buffers`, `write` and
/// `read` instead. Copies are made by `=`, and a type whose copies share data is refused as everywhere.
/// \ingroup start
template <class T>
struct flat {
  using declared_flat = T;  ///< what cairn asks for
  static_assert(!requires { sizeof(T); } || detail::shows_elements<T>,
                "cairn: cairn::flat is for a type that shows its elements, by data(), memptr() or x[k], and their number, "
                "by size(), n_elem or num_elements(); for another one specialise cairn::state_traits with bytes(x), "
                "visit_buffers(x, f) and visit_numbers(x, f)");
};

}  // namespace cairn
