// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cmath>
#include <exception>
#include <cairn/trace/detail/json_text.hpp>
#include <cairn/trace/trace_region.hpp>

namespace cairn {

CAIRN_DECL void trace_argument::add_to(std::string& text) const {
  auto const add_number = [&](auto value) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  text += ",\"";
  detail::add_json_text(text, key_);
  text += "\":";
  switch (is_) {
    case kind::text:
      text += '"';
      detail::add_json_text(text, text_);
      text += '"';
      break;
    case kind::truth: text += whole_ != 0 ? "true" : "false"; break;
    case kind::whole: add_number(whole_); break;
    case kind::number:
      if (std::isfinite(number_)) add_number(number_);
      else text += std::isnan(number_) ? "\"nan\"" : number_ > 0 ? "\"infinity\"" : "\"-infinity\"";
      break;
    case kind::list:
      text += '[';
      for (auto const& value : list_) {
        if (&value != list_.begin()) text += ',';
        add_number(value);
      }
      text += ']';
      break;
  }
}

namespace detail {

CAIRN_DECL region_words::region_words(std::string_view name, std::initializer_list<trace_argument> arguments,
                                      trace_region_options const& options) {
  text_.reserve(160);  // one allocation for most
  text_ += ",\"name\":\"";
  std::size_t const named = text_.size();
  add_json_text(text_, name);
  std::size_t const name_size = text_.size() - named;
  text_ += "\",\"cat\":\"";
  add_json_text(text_, options.category);
  text_ += '"';
  head_ = text_.size();
  text_ += options.grad_enabled ? ",\"grad_enabled\":1,\"type\":\"" : ",\"grad_enabled\":0,\"type\":\"";
  add_json_text(text_, options.type);
  text_ += "\",\"target\":\"";
  if (options.target.empty()) text_.append(text_, named, name_size);
  else add_json_text(text_, options.target);
  text_ += '"';
  for (auto const& one : arguments) one.add_to(text_);
}

CAIRN_DECL void open_event_guard::end(event_words const& words) noexcept {
  auto const ended = trace_lines::now(*log_);
  trace_lines::leave(*log_, span_);
  try {
    trace_lines{*log_}.complete(span_, ended, words);
  } catch (std::exception const&) {  // no memory for the line
  }
}

}  // namespace detail
}  // namespace cairn
