// SPDX-License-Identifier: Apache-2.0
#include "outer_members.hpp"

#include <cstddef>
#include <optional>

#include "json_text.hpp"

namespace tool {
namespace {

using json = nlohmann::json;

/// Reads up to the member that is looked for.
class member_reader final : public json::json_sax_t {
 public:
  explicit member_reader(std::string_view name) : name_{name} {}
  std::optional<std::string> found;  ///< the member as JSON; empty if it is neither a whole number nor a text

  bool null() override { return see(""); }
  bool boolean(bool) override { return see(""); }
  bool number_integer(json::number_integer_t number) override { return see(std::to_string(number)); }
  bool number_unsigned(json::number_unsigned_t number) override { return see(std::to_string(number)); }
  bool number_float(json::number_float_t, std::string const&) override { return see(""); }
  bool string(std::string& text) override { return !is_it_ || see(json_string(text)); }
  bool binary(json::binary_t&) override { return see(""); }
  bool start_object(std::size_t) override { return see("") && ++depth_ > 0; }
  bool end_object() override { return --depth_ > 0; }
  bool start_array(std::size_t) override { return see("") && ++depth_ > 1; }
  bool end_array() override { return --depth_ > 0; }
  bool key(std::string& name) override {
    is_it_ = depth_ == 1 && name == name_;
    return true;
  }
  bool parse_error(std::size_t, std::string const&, json::exception const&) override { return false; }

 private:
  /// Returns whether to read on.
  bool see(std::string const& value) {
    if (is_it_) found = value;
    return !is_it_;
  }

  std::string_view name_;
  int depth_ = 0;
  bool is_it_ = false;
};

std::optional<std::string> member_of(std::string_view text, std::string_view name) {
  member_reader reader{name};
  (void)json::sax_parse(text, &reader);
  return reader.found;
}

}  // namespace

std::string id_on(std::string_view line) { return member_of(line, "id").value_or(""); }
bool has_member(std::string_view text, std::string_view name) { return member_of(text, name).has_value(); }

}  // namespace tool
