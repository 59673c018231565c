#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <cairn/trace/detail/json_text.hpp>
#include <cairn/trace/trace_region.hpp>

namespace cairn {

CAIRN_DECL void trace_argument::add_to(std::string& text) const {
  auto const add_number = [&](auto value) {
    char digits[32];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  };
  ((text += ',') += detail::json_string(key_)) += ':';
  switch (is_) {
    case kind::text: text += detail::json_string(text_); break;
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

CAIRN_DECL open_region::open_region(trace_writer& log, std::string_view name,
                                    std::initializer_list<trace_argument> arguments,
                                    trace_region_options const& options)
    : log_{log.wants(options.category) ? &log : nullptr},
      category_{options.category},
      type_{options.type},
      grad_enabled_{options.grad_enabled} {
  if (log_ == nullptr) return;
  add_json_text(words_, name);
  name_size_ = words_.size();
  add_json_text(words_, options.target.empty() ? name : options.target);
  target_size_ = words_.size() - name_size_;
  for (auto const& one : arguments) one.add_to(words_);
  span_ = trace_lines::begin(log, std::string_view{category_} == "region" ? "" : category_);
}

CAIRN_DECL open_region::~open_region() {
  if (log_ == nullptr) return;
  auto const ended = trace_lines::now(*log_);
  trace_lines::leave(*log_, span_);
  std::string_view const words{words_};
  try {
    trace_lines{*log_}.complete(span_, ended,
                                {.name = words.substr(0, name_size_),
                                 .category = category_,
                                 .type = type_,
                                 .target = words.substr(name_size_, target_size_),
                                 .grad_enabled = grad_enabled_,
                                 .more = words.substr(name_size_ + target_size_)});
  } catch (std::exception const&) {  // no memory for the line
  }
}

}  // namespace detail
}  // namespace cairn
