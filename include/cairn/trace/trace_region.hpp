// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file trace_region.hpp  Parts of a program as events of a trace: regions, and functions that need no edit.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <cairn/detail/linkage.hpp>
#include <cairn/trace/trace_writer.hpp>

namespace cairn {

/// A key and a value that an event of a trace shows: `{"epoch", 3}`, `{"image_size", {224, 224}}`.
class trace_argument {
 public:
  /// \param key  any text   \param value  a text; both outlive the argument
  constexpr trace_argument(std::string_view key, std::string_view value) noexcept
      : key_{key}, text_{value}, is_{kind::text} {}
  /// The same with a text that ends in a zero byte.
  constexpr trace_argument(std::string_view key, char const* value) noexcept
      : trace_argument{key, std::string_view{value}} {}
  /// The same with a truth value.
  constexpr trace_argument(std::string_view key, std::same_as<bool> auto value) noexcept
      : key_{key}, whole_{value}, is_{kind::truth} {}
  /// The same with a whole number.
  constexpr trace_argument(std::string_view key, std::integral auto value) noexcept
    requires(!std::same_as<decltype(value), bool>)
      : key_{key}, whole_{std::int64_t(value)}, is_{kind::whole} {}
  /// The same with a number; infinite and NaN become texts.
  constexpr trace_argument(std::string_view key, std::floating_point auto value) noexcept
      : key_{key}, number_{double(value)}, is_{kind::number} {}
  /// The same with a list of whole numbers.
  constexpr trace_argument(std::string_view key, std::initializer_list<std::int64_t> values) noexcept
      : key_{key}, list_(values), is_{kind::list} {}

  /// Appends `,"key":value`.
  CAIRN_DECL void add_to(std::string& text) const;

 private:
  enum class kind : std::uint8_t { text, truth, whole, number, list };
  std::string_view key_, text_ = {};
  std::int64_t whole_ = 0;
  double number_ = 0;
  std::initializer_list<std::int64_t> list_ = {};
  kind is_;
};

/// What a region is.
struct trace_region_options {
  /// Its category, with static storage; operators inside have it, too, unless it is "region".
  char const* category = "region";
  char const* type = "region";  ///< the type of operation: "module", "function", "method" ...; with static storage
  std::string_view target = {};  ///< what it works on, such as the path of a module; empty: its name
  bool grad_enabled = false;  ///< whether results keep what their adjoints need
  bool enable = true;  ///< false: nothing is written, and the arguments are not looked at
};

/// Takes the place of a `trace_writer` in a program that is built without traces: regions and traced functions with it
/// compile to nothing.
struct no_trace {
  /// Does nothing.
  constexpr void note(std::string_view, std::string_view) const noexcept {}
  /// Does nothing.
  constexpr void finalize() const noexcept {}
  [[nodiscard]] constexpr bool enabled() const noexcept { return false; }  ///< false
};

namespace detail {

/// The constant parts of a region's event.
class region_words {
 public:
  CAIRN_DECL region_words(std::string_view name, std::initializer_list<trace_argument> arguments,
                          trace_region_options const& options);
  [[nodiscard]] event_words parts() const noexcept {
    std::string_view const all{text_};
    return {all.substr(0, head_), all.substr(head_)};
  }

 private:
  std::string text_;
  std::size_t head_ = 0;
};

/// An event that is open from its construction to its end.
class open_event_guard {
 public:
  open_event_guard(trace_writer& log, char const* category) noexcept
      : log_{&log}, span_{trace_lines::begin(log, std::string_view{category} == "region" ? "" : category)} {}
  open_event_guard(open_event_guard const&) = delete;
  open_event_guard& operator=(open_event_guard const&) = delete;
  CAIRN_DECL void end(event_words const& words) noexcept;

 private:
  trace_writer* log_;
  trace_span span_;
};

/// A region that is written.
class open_region {
 public:
  open_region(trace_writer& log, std::string_view name, std::initializer_list<trace_argument> arguments,
              trace_region_options const& options)
      : words_{name, arguments, options}, event_{log, options.category} {}
  ~open_region() { event_.end(words_.parts()); }

 private:
  region_words words_;
  open_event_guard event_;
};

}  // namespace detail

/// An event from here to the end of the scope: `cairn::trace_region step{log, "step", {{"epoch", 3}, {"batch", 17}}};`.
/// Regions nest; they end in the thread that made them, in reverse order. An exception ends a region, too.
/// \tparam Log  trace_writer or no_trace
template <class Log>
class [[nodiscard]] trace_region {
  static_assert(std::is_same_v<Log, trace_writer>, "cairn: a trace_region needs a trace_writer, or no_trace");

 public:
  /// \param log  outlives the region   \param name  any text; keys of arguments may be any text, too
  explicit trace_region(Log& log, std::string_view name, std::initializer_list<trace_argument> arguments = {},
                        trace_region_options const& options = {})
      : open_{begin(log, name, arguments, options)} {}

 private:
  using open_type = std::optional<detail::open_region>;
  [[nodiscard]] static open_type begin(Log& log, std::string_view name,
                                       std::initializer_list<trace_argument> arguments,
                                       trace_region_options const& options) {
    if (options.enable && log.wants(options.category)) return open_type{std::in_place, log, name, arguments, options};
    return std::nullopt;
  }
  open_type open_;
};

/// A region of a program that is built without traces.
template <>
class trace_region<no_trace> {
 public:
  /// Does nothing.
  constexpr explicit trace_region(no_trace const&, std::string_view, std::initializer_list<trace_argument> = {},
                                  trace_region_options const& = {}) noexcept {}
  constexpr ~trace_region() {}  ///< does nothing; it is there so that the region counts as used
};
/// `trace_region region{log, "name"}`.
template <class Log>
trace_region(Log&, std::string_view) -> trace_region<std::remove_const_t<Log>>;
/// `trace_region region{log, "name", {{"key", 1}}}`.
template <class Log>
trace_region(Log&, std::string_view, std::initializer_list<trace_argument>, trace_region_options const& = {})
    -> trace_region<std::remove_const_t<Log>>;

namespace detail {

/// A callable whose calls are events.
template <class Fn>
class traced_function {
 public:
  traced_function(trace_writer& log, std::string_view name, Fn f)
      : log_{log.wants("function") ? &log : nullptr}, words_{"function." + std::string{name}, {}, options(name)},
        f_{std::move(f)} {}

  template <class... Arguments>
    requires std::invocable<Fn&, Arguments...>
  decltype(auto) operator()(Arguments&&... arguments) {
    std::optional<call> const whole = begin();
    return std::invoke(f_, std::forward<Arguments>(arguments)...);
  }
  template <class... Arguments>
    requires std::invocable<Fn const&, Arguments...>
  decltype(auto) operator()(Arguments&&... arguments) const {
    std::optional<call> const whole = begin();
    return std::invoke(f_, std::forward<Arguments>(arguments)...);
  }

 private:
  struct call {
    call(trace_writer& log, region_words const& said) : words{said}, event{log, ""} {}
    call(call const&) = delete;
    call& operator=(call const&) = delete;
    ~call() { event.end(words.parts()); }
    region_words const& words;
    open_event_guard event;
  };
  [[nodiscard]] std::optional<call> begin() const {
    if (log_ != nullptr && log_->enabled()) return std::optional<call>{std::in_place, *log_, words_};
    return std::nullopt;
  }
  [[nodiscard]] static trace_region_options options(std::string_view name) noexcept {
    return {.category = "function", .type = "function", .target = name};
  }

  trace_writer* log_;
  region_words words_;
  [[no_unique_address]] Fn f_;
};

}  // namespace detail

/// The same function, each call of which is an event `function.NAME` of category "function": `traced(log, "step",
/// step)` takes the place of `step`. Takes and returns what `f` does; keeps a copy of `f`, `std::ref(f)` does not.
/// \param log  outlives the result   \param name  any text
template <class Fn>
[[nodiscard]] detail::traced_function<std::decay_t<Fn>> traced(trace_writer& log, std::string_view name,
                                                             Fn&& f) {
  return {log, name, std::forward<Fn>(f)};
}
/// The function itself.
template <class Fn>
[[nodiscard]] constexpr Fn&& traced(no_trace const&, std::string_view, Fn&& f) noexcept {
  return std::forward<Fn>(f);
}

}  // namespace cairn

#ifndef CAIRN_SEPARATE_COMPILATION
#include <cairn/trace/impl/trace_region.ipp>
#endif
