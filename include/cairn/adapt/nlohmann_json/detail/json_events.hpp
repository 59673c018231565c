// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file json_events.hpp  Reads JSON as events: a value, a container that opens, one that closes.
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/detail/words.hpp>

namespace cairn::detail {

/// Whether the reader complains of a number that no type can hold.
[[nodiscard]] inline bool is_too_large_a_number(nlohmann::json::exception const& found) noexcept {
  constexpr int number_out_of_range = 406;
  return found.id == number_out_of_range;
}

/// Not in the class: nvcc takes `cairn::parse_error` there for the function of that name.
[[noreturn]] inline void refuse_text(char const* who, char const* problem, std::initializer_list<named_value> values,
                                     char const* advice) {
  throw cairn::parse_error{who, problem, values, advice};
}
/// The base of readers of texts and of trees. They keep what they know and pass over the rest, which then takes no
/// memory, however large it is and however deeply nested.
class json_events : public nlohmann::json::json_sax_t {
 public:
  using json = nlohmann::json;  ///< whose events it takes

  bool null() override { return take(nullptr); }  ///< a value
  bool boolean(bool claim) override { return take(claim); }  ///< a value
  bool number_integer(json::number_integer_t number) override { return take(number); }  ///< a value
  bool number_unsigned(json::number_unsigned_t number) override { return take(number); }  ///< a value
  bool number_float(json::number_float_t number, json::string_t const&) override { return take(number); }  ///< a value
  bool string(json::string_t& text) override { return take(std::move(text)); }  ///< a value
  bool binary(json::binary_t&) override { return take(nullptr); }  ///< refused: not a number
  bool start_object(std::size_t) override { return begin(json::object()); }  ///< an object begins
  bool end_object() override { return end(); }  ///< an object ends
  bool start_array(std::size_t) override { return begin(json::array()); }  ///< a list begins
  bool end_array() override { return end(); }  ///< a list ends
  /// The name of the next member.
  bool key(json::string_t& name) override {
    if (ignored_ == 0) key_ = name;
    return true;
  }
  /// \throws parse_error   with the number of the byte
  bool parse_error(std::size_t position, std::string const&, json::exception const& found) override {
    refuse(is_too_large_a_number(found) ? "a number that is too large for any type" : "this is not JSON",
           {{"byte", position}}, "");
  }

  /// Reads a text; no tree is built.
  void read(std::string_view text) { json::sax_parse(text, this); }
  /// Reads a tree as its text would be read. No recursion: a tree may be as deep as it likes.
  void read_tree(json const& tree) {
    struct level { json const& of; json::const_iterator next; };
    std::vector<level> open;
    auto const enter = [&](json const& is) {
      if (!is.is_structured()) return void(take(is));
      begin(is.is_object() ? json::object() : json::array());
      open.push_back({is, is.begin()});
    };
    for (enter(tree); !open.empty();) {
      level& at = open.back();
      if (at.next == at.of.end()) {
        open.pop_back();
        end();
        continue;
      }
      if (auto name = at.of.is_object() ? at.next.key() : std::string{}; at.of.is_object()) key(name);
      enter(*at.next++);
    }
  }

 protected:
  /// \param who  what errors begin with, with static storage
  explicit json_events(char const* who) noexcept : who_{who} {}

  /// A text, a number, a boolean or null.
  virtual void value(json const& is) = 0;
  /// An object or a list begins; `depth_` counts it.   \param empty  one of its kind
  virtual void open(json const& empty) = 0;
  /// It ends; `depth_` still counts it.
  virtual void close() {}

  /// Passes over what is in the container that opens.
  void ignore() noexcept { ignored_ = depth_; }
  [[noreturn]] void refuse(char const* problem, std::initializer_list<named_value> values, char const* advice) const {
    refuse_text(who_, problem, values, advice);
  }

  char const* who_;
  int depth_ = 0;          ///< open containers
  json::string_t key_;     ///< the name of the last member

 private:
  bool take(json const& is) {
    if (ignored_ == 0) value(is);
    return true;
  }
  bool begin(json const& empty) {
    ++depth_;
    if (ignored_ == 0) open(empty);
    return true;
  }
  bool end() {
    if (ignored_ == 0) close();
    else if (ignored_ == depth_) ignored_ = 0;
    --depth_;
    return true;
  }

  int ignored_ = 0;  ///< containers that were open when an ignored one began; 0 outside ignored ones
};

/// The number, if it is whole and from 0 to 2^63-1.
[[nodiscard]] inline std::optional<std::int64_t> whole_json(nlohmann::json const& is) {
  constexpr auto most = std::uint64_t((std::numeric_limits<std::int64_t>::max)());
  if (is.is_number_unsigned() && is.get<std::uint64_t>() > most) return {};
  if (!is.is_number_integer() || is.get<std::int64_t>() < 0) return {};
  return is.get<std::int64_t>();
}
/// The same, also from a string of digits.
[[nodiscard]] inline std::optional<std::int64_t> whole_json_or_digits(nlohmann::json const& is) {
  return is.is_string() ? whole_number(is.get_ref<std::string const&>()) : whole_json(is);
}

}  // namespace cairn::detail
