// SPDX-License-Identifier: Apache-2.0
#pragma once
/// \file members.hpp  Collects the members of a JSON object.
#include <string>
#include <string_view>
#include <utility>
#include "numbers.hpp"

namespace tool {

class members {
 public:
  void add(std::string_view name, std::string const& json) {
    if (!text_.empty()) text_ += ',';
    text_.append(1, '"').append(name).append("\":").append(json);
  }
  void add(std::string_view name, cairn::wide number) { add(name, json_number(number)); }
  /// The members, without braces.
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace tool
