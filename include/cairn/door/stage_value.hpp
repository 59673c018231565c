// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file stage_value.hpp  A state, tape or adjoint of any type, for chains whose stages are known only at run time.
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <cairn/core/buffers.hpp>
#include <cairn/core/bytes_of.hpp>
#include <cairn/core/detail/compiler.hpp>
#include <cairn/core/detail/state_hash.hpp>
#include <cairn/core/error.hpp>
#include <cairn/core/event.hpp>
#include <cairn/core/state_traits.hpp>
#include <cairn/rules/detail/stage_boxes.hpp>

namespace cairn {
namespace detail {

/// What is known of a type at run time. Equal types have the same address.
struct type_facts {
  bool (*visit)(void const* value, event::sink sink, void* context);
  std::uint64_t (*hash)(void const* value);  ///< for a replay check; 0 if not all of its value is known
};
using type_mark = type_facts const*;
template <class T>
bool visit_bytes(void const* value, event::sink sink, void* context) {
  return show_runs(*static_cast<T const*>(value), sink, context);
}
template <class T>
std::uint64_t hash_bytes(void const* value) { return hash_if_known(*static_cast<T const*>(value)); }
template <class T> inline constexpr type_facts facts_of_type{&visit_bytes<T>, &hash_bytes<T>};
template <class T>
[[nodiscard]] constexpr type_mark mark_of() noexcept { return &facts_of_type<T>; }

[[noreturn]] inline void refuse_type() {
  throw invalid_call{"cairn::stage_value",
                     "a value of another type is requested, or there is no value",
                     {},
                     "ask for the type that the stage gives, without const and &"};
}

}  // namespace detail

/// A non-owning reference to a value of any type, such as the state that a chain of `any_stage` passes to a seed; valid
/// only during the call.
class stage_view {
 public:
  stage_view() = default;  ///< refers to nothing
  /// Refers to `value`.
  template <class T>
    requires(!std::is_same_v<T, stage_view>)
  explicit stage_view(T const& value) noexcept : value_{detail::address_of(value)}, type_{detail::mark_of<T>()} {}

  /// Whether it refers to a T.
  template <class T>
  [[nodiscard]] bool holds() const noexcept { return type_ == detail::mark_of<T>(); }
  /// \throws invalid_call   if it refers to another type, or to nothing
  template <class T>
  [[nodiscard]] T const& get() const {
    if (!holds<T>()) detail::refuse_type();
    return *static_cast<T const*>(value_);
  }
  /// Whether it refers to anything.
  [[nodiscard]] bool has_value() const noexcept { return type_ != nullptr; }
  /// What is known of the type; null if it refers to nothing.
  [[nodiscard]] detail::type_mark type() const noexcept { return type_; }
  /// Visits its runs of bytes as `event::each_buffer` does; returns false if they are not known.
  bool visit(event::sink sink, void* context) const { return type_ != nullptr && type_->visit(value_, sink, context); }
  /// A hash of all of its value, by which a replay check compares; 0 if that is not known.
  [[nodiscard]] std::uint64_t hash() const { return type_ != nullptr ? type_->hash(value_) : 0; }

 private:
  void const* value_ = nullptr;
  detail::type_mark type_ = nullptr;
};

/// Owns one value of any type, movable or not. Holds nothing after it is moved from.   Cost: one allocation, except for
/// values in boxes that an executor keeps.
class stage_value {
  struct holder {
    virtual ~holder() = default;
    virtual void end() noexcept { delete this; }
    [[nodiscard]] virtual stage_view view() const noexcept = 0;
    [[nodiscard]] virtual std::size_t bytes() const = 0;
  };
  template <class T>
  struct holder_of : holder {
    template <class Make>
    explicit holder_of(Make&& make) : value(make()) {}
    [[nodiscard]] stage_view view() const noexcept override { return stage_view{value}; }
    [[nodiscard]] std::size_t bytes() const override {
      if constexpr (sized_state<T>) return sizeof(holder_of) + detail::heap_of(value);
      else return sizeof(holder_of);
    }
    T value;
  };
  /// A holder in one of the boxes; the box is returned when the value is destroyed.
  template <class T>
  struct boxed final : holder_of<T> {
    template <class Make>
    boxed(Make& make, detail::stage_boxes& from) : holder_of<T>(make), boxes(from) {}
    void end() noexcept override {
      detail::stage_boxes& from = boxes;
      this->~boxed();
      from.give_back<boxed>(this);
    }
    detail::stage_boxes& boxes;
  };
  explicit stage_value(holder* made) noexcept : held_{made} {}

 public:
  stage_value() = default;  ///< holds nothing
  /// Holds a copy of `value`, or the value itself if it is an rvalue.
  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, stage_value>)
  explicit stage_value(T&& value) : stage_value{made_by([&] { return detail::taken(std::forward<T>(value)); })} {}
    stage_value(stage_value&& other) noexcept
        : held_{std::exchange(other.held_, nullptr)} {}     ///< takes over the value of `other`
    stage_value& operator=(stage_value&& other) noexcept {  ///< takes over the value of `other`
      stage_value taken{std::move(other)};
      std::swap(held_, taken.held_);
      return *this;
  }
  ~stage_value() {
    if (held_ != nullptr) held_->end();
  }

  /// Holds the result of `make()`, made in place.
  template <class Make>
  [[nodiscard]] static stage_value made_by(Make make) {
    return stage_value{static_cast<holder*>(new holder_of<decltype(make())>(make))};
  }
  /// The same in one of `boxes`, which must outlive the value; by an allocation if `boxes` is null or the value is too
  /// large.
  template <class Make>
  [[nodiscard]] static stage_value made_by(Make make, detail::stage_boxes* boxes) {
    using box = boxed<decltype(make())>;
    if constexpr (detail::stage_boxes::fits<box>) {
      if (boxes != nullptr) {
        void* const memory = boxes->take<box>();
        try {
          return stage_value{static_cast<holder*>(::new (memory) box(make, *boxes))};
        } catch (...) {
          boxes->give_back<box>(memory);
          throw;
        }
      }
    }
    return made_by(make);
  }

  /// Whether it holds anything.
  [[nodiscard]] bool has_value() const noexcept { return held_ != nullptr; }
  /// A non-owning view of the value.
  [[nodiscard]] stage_view view() const noexcept { return held_ != nullptr ? held_->view() : stage_view{}; }
  /// Whether it holds a T.
  template <class T>
  [[nodiscard]] bool holds() const noexcept { return view().holds<T>(); }
  /// \throws invalid_call   if it holds another type or nothing
  template <class T>
  [[nodiscard]] T const& get() const { return view().get<T>(); }
  /// \throws invalid_call   if it holds another type or nothing
  template <class T>
  [[nodiscard]] T& get() {
    if (!holds<T>()) detail::refuse_type();
    return static_cast<holder_of<T>*>(held_)->value;
  }
  /// Bytes of this object and of its value; only sizeof if the value's bytes are not known.
  [[nodiscard]] std::size_t bytes() const { return sizeof(stage_value) + (held_ != nullptr ? held_->bytes() : 0); }

 private:
  holder* held_ = nullptr;
};

}  // namespace cairn
