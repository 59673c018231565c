// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file json_events.hpp  Reads JSON without a tree: the many events of nlohmann's reader as four.
#include <cstddef>
#include <string>
#include <utility>
#include <nlohmann/json.hpp>

namespace cairn::detail {

/// The base of readers that keep what they know and pass over the rest, which then takes no memory, however large it is
/// and however deeply nested.
class json_events : public nlohmann::json::json_sax_t {
 public:
  using json = nlohmann::json;  ///< whose events it takes

  bool null() override { return value(nullptr); }  ///< a value
  bool boolean(bool claim) override { return value(claim); }  ///< a value
  bool number_integer(json::number_integer_t number) override { return value(number); }  ///< a value
  bool number_unsigned(json::number_unsigned_t number) override { return value(number); }  ///< a value
  bool number_float(json::number_float_t number, json::string_t const&) override { return value(number); }  ///< a value
  bool string(json::string_t& text) override { return value(std::move(text)); }  ///< a value
  bool binary(json::binary_t&) override { return value(nullptr); }  ///< refused: not a number
  bool start_object(std::size_t) override { return open(json::object()); }  ///< an object begins
  bool end_object() override { return close(); }  ///< an object ends
  bool start_array(std::size_t) override { return open(json::array()); }  ///< a list begins
  bool end_array() override { return close(); }  ///< a list ends

 protected:
  /// A text, a number, a boolean or null. Like the others it returns whether to read on.
  virtual bool value(json const& is) = 0;
  /// An object or a list begins.   \param empty  one of its kind
  virtual bool open(json const& empty) = 0;
  /// It ends.
  virtual bool close() = 0;
};

/// Whether the reader complains of a number that no type can hold.
[[nodiscard]] inline bool is_too_large_a_number(nlohmann::json::exception const& found) noexcept {
  constexpr int number_out_of_range = 406;
  return found.id == number_out_of_range;
}

}  // namespace cairn::detail
