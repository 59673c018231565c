// SPDX-License-Identifier: Apache-2.0
#include "batch.hpp"

#include <istream>
#include <new>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/core/error.hpp>

#include "answer.hpp"
#include "deadline_timer.hpp"
#include "json_text.hpp"
#include "keys.hpp"
#include "lines.hpp"
#include "outer_members.hpp"
#include "planning.hpp"
#include "request.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

using json = nlohmann::json;

constexpr std::size_t longest_line = 65'536;

/// Reads a request from one flat JSON object during parsing, without building a tree.
class request_reader final : public json::json_sax_t {
 public:
  request asked;
  std::string id;  ///< as JSON; empty if there is none

  bool null() override { return value("null"); }
  bool boolean(bool flag) override { return value(flag ? "true" : "false"); }
  bool number_integer(json::number_integer_t number) override { return whole(std::to_string(number)); }
  bool number_unsigned(json::number_unsigned_t number) override { return whole(std::to_string(number)); }
  bool number_float(json::number_float_t, std::string const& text) override { return value(text); }
  bool string(std::string& text) override {
    if (!open_ || key_ != "id") return value(text);
    id = json_string(text);
    return true;
  }
  bool binary(json::binary_t&) override { return value("binary"); }
  bool start_object(std::size_t) override {
    if (in_tiers_ && !in_tier_) {
      tier_ = {};
      return in_tier_ = true;
    }
    if (open_) throw wrong_request{key_ + " got an object; give " + (in_tiers_ ? tier_example : values_of(key_))};
    return open_ = true;
  }
  bool key(std::string& name) override {
    if (in_tier_) return tier_key(name);
    for (auto const& earlier : seen_)
      if (earlier == name) throw wrong_request{name + " is given twice; give it once"};
    seen_.push_back(key_ = name);
    return true;
  }
  bool end_object() override {
    if (!in_tier_) return true;
    if (tier_.slots.empty()) throw wrong_request{std::string{"one of tiers has no slots; give "} + tier_example};
    in_tier_ = false;
    tiers_.append(tiers_.empty() ? "" : ",")
        .append(tier_.slots)
        .append(1, ':')
        .append(tier_.write.empty() ? "0" : tier_.write);
    tiers_.append(1, ':').append(tier_.read.empty() ? "0" : tier_.read);
    return true;
  }
  bool start_array(std::size_t) override {
    if (!open_) throw wrong_request{"the line is a list; give one JSON object, as in {\"steps\":1000,\"slots\":10}"};
    if (key_ != "tiers" || in_tiers_)
      throw wrong_request{key_ + " got a list; give " + (in_tiers_ ? tier_example : values_of(key_))};
    return in_tiers_ = true;
  }
  bool end_array() override {
    in_tiers_ = false;
    set(asked, key_, tiers_);
    return true;
  }
  bool parse_error(std::size_t position, std::string const&, json::exception const& found) override {
    refuse_large_number(position, found);
    throw wrong_request{"the line is not JSON at character " + std::to_string(position) +
                        "; give one object, as in {\"steps\":1000,\"slots\":10}"};
  }

 private:
  static constexpr char const* tier_example =
      "a list as in [{\"slots\":5,\"write\":0,\"read\":0},{\"slots\":20,\"write\":10,\"read\":3}]";
  struct tier_text {
    std::string slots, write, read;
  };

  bool tier_key(std::string const& name) {
    part_ = name == "slots" ? &tier_.slots : name == "write" ? &tier_.write : name == "read" ? &tier_.read : nullptr;
    if (!part_) throw wrong_request{json_string(name) + " is not a key of a tier; there are slots, write and read"};
    if (!part_->empty()) throw wrong_request{name + " is given twice in one of tiers; give it once"};
    return true;
  }
  bool tier_value(std::string_view text) {
    if (text.empty() || text.find_first_of(",:") != text.npos)
      throw wrong_request{"tiers got " + json_string(text) + "; give " + tier_example};
    *part_ = text;
    return true;
  }
  bool whole(std::string const& digits) {
    if (!open_ || key_ != "id") return value(digits);
    id = digits;
    return true;
  }
  bool value(std::string_view text) {
    if (!open_) throw wrong_request{"the line is not an object; give one, as in {\"steps\":1000,\"slots\":10}"};
    if (in_tier_) return tier_value(text);
    if (in_tiers_ || key_ == "tiers") throw wrong_request{"tiers got " + std::string{text} + "; give " + tier_example};
    if (key_ == "actions")
      throw wrong_request{"actions names a file, which batch does not read; give it as cairn plan --actions FILE"};
    if (key_ == "id") throw wrong_request{"id got " + std::string{text} + "; give " + values_of(key_)};
    set(asked, key_, text);
    return true;
  }

  bool open_ = false;
  bool in_tiers_ = false, in_tier_ = false;
  std::string key_;
  std::string tiers_;  ///< as on the command line
  tier_text tier_;
  std::string* part_ = nullptr;
  std::vector<std::string> seen_;
};

/// \throws wrong_request
void read_into(request_reader& reader, std::string const& line) {
  if (line.empty()) throw wrong_request{"the line is empty; give one JSON object, as in {\"steps\":1000,\"slots\":10}"};
  json::sax_parse(line.begin(), line.end(), &reader);
}

std::string answer(std::string const& line, line_kind kind, batch_time& time) {
  request_reader reader;
  auto const error = [&](std::string_view text) { return answer_object(id_on(line), "\"error\":" + json_string(text)); };
  try {
    if (kind == line_kind::too_long)
      throw wrong_request{"the line is too long; a request has 65536 characters at most"};
    read_into(reader, line);
    reader.asked.deadline = time.of_line(reader.asked.time_limit);
    return answer_object(reader.id, json_members(plan_of(reader.asked)));
  } catch (wrong_request const& problem) {
    return error(problem.what());
  } catch (cairn::error const& problem) {
    return error(message_of(problem));
  } catch (std::bad_alloc const&) { return error("there is not enough memory to walk this plan"); }
}

}  // namespace

std::optional<request> read_request(std::string const& line) {
  request_reader reader;
  try {
    read_into(reader, line);
  } catch (wrong_request const&) { return {}; }
  return reader.asked;
}

void answer_lines(std::istream& from, std::ostream& to, std::optional<double> time_limit) {
  keys_are_options = false;
  batch_time time{time_limit};
  answer_each_line(from, to, longest_line,
                   [&](std::string const& line, line_kind kind) { return answer(line, kind, time); });
}

}  // namespace tool
