// SPDX-License-Identifier: Apache-2.0
#include "chain_batch.hpp"

#include <istream>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/adapt/nlohmann_json/chain.hpp>
#include <cairn/core/error.hpp>
#include <cairn/plan/text/chain_text.hpp>

#include "asked_chain.hpp"
#include "chain_answer.hpp"
#include "deadline_timer.hpp"
#include "json_text.hpp"
#include "keys.hpp"
#include "lines.hpp"
#include "numbers.hpp"
#include "outer_members.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

constexpr char const* example = "as in {\"chain\":{\"x\":[8,8],\"s\":[20],\"uf\":[1]},\"memory\":64}";

class chain_request_reader final : public cairn::chain_json_reader {
 public:
  chain_request_reader() : chain_json_reader{"cairn::chain", false} {}

  asked_chain asked;
  std::string id;  ///< as JSON; empty if there is none

  bool start_array(std::size_t size) override {
    if (!open_) throw wrong_request{std::string{"the line is a list; give one JSON object, "} + example};
    return chain_json_reader::start_array(size);
  }
  bool start_object(std::size_t size) override {
    open_ = true;
    return chain_json_reader::start_object(size);
  }
  bool parse_error(std::size_t position, std::string const&, json::exception const& found) override {
    refuse_large_number(position, found);
    throw wrong_request{"the line is not JSON at character " + std::to_string(position) + "; give one object, " +
                        example};
  }

 protected:
  void outer(std::string const& key, json const& is) override {
    for (auto const& earlier : seen_)
      if (earlier == key) throw wrong_request{key + " is given twice; give it once"};
    seen_.push_back(key);
    if (is.is_structured())
      throw wrong_request{key + " got " + (is.is_array() ? "a list" : "an object") + "; give " + values_of(key)};
    if (key == "id") {
      if (!is.is_string() && !is.is_number_integer())
        throw wrong_request{"id got " + is.dump() + "; give " + values_of(key)};
      id = is.dump(-1, ' ', false, json::error_handler_t::replace);
    } else {
      set(asked, key, is.is_string() ? is.get_ref<std::string const&>() : is.dump());
    }
  }

 private:
  bool open_ = false;
  std::vector<std::string> seen_;
};

/// \throws wrong_request, cairn::error
cairn::chain read_into(chain_request_reader& reader, std::string const& line) {
  if (line.empty()) throw wrong_request{std::string{"the line is empty; give one JSON object, "} + example};
  nlohmann::json::sax_parse(line.begin(), line.end(), &reader);
  return reader.take();
}

std::string chain_answer_of(std::string const& line, line_kind kind, batch_time& time) {
  chain_request_reader reader;
  auto const error = [&](std::string_view text, std::string const& more = "") {
    return answer_object(id_on(line), "\"error\":" + json_string(text) + more);
  };
  try {
    if (kind == line_kind::too_long)
      throw wrong_request{"the line is too long; a request has " + std::to_string(longest_chain_text) +
                          " characters at most"};
    auto work = read_into(reader, line);
    if (!reader.asked.memory && !reader.asked.time)
      throw wrong_request{"memory is not given; give the bytes that there are beside state 0, or time"};
    refuse_two_budgets(reader.asked);
    reader.asked.deadline = time.of_line(reader.asked.time_limit);
    chain_desk desk{std::move(work), reader.asked};
    try {
      return answer_object(reader.id, desk.json_members(desk.plan()));
    } catch (cairn::infeasible_budget const& problem) {
      if (auto const why = desk.why_infeasible())
        return error(cairn::chain_infeasibility_text(*why, desk.work()),
                     ",\"least_feasible_memory\":" + json_number(cairn::wide(why->least_bytes)));
      return error(message_of(problem));
    }
  } catch (wrong_request const& problem) {
    return error(problem.what());
  } catch (cairn::error const& problem) {
    return error(message_of(problem));
  } catch (std::bad_alloc const&) {
    return error("there is not enough memory to plan this chain; name another planner, or fewer slots");
  }
}

}  // namespace

std::optional<chain_request> read_chain_request(std::string const& line) {
  chain_request_reader reader;
  try {
    auto work = read_into(reader, line);
    return chain_request{std::move(work), reader.asked};
  } catch (wrong_request const&) {
  } catch (cairn::error const&) {
  }
  return {};
}

void answer_chain_lines(std::istream& from, std::ostream& to, std::optional<double> time_limit) {
  keys_are_options = false;
  batch_time time{time_limit};
  answer_each_line(from, to, longest_chain_text,
                   [&](std::string const& line, line_kind kind) { return chain_answer_of(line, kind, time); });
}

}  // namespace tool
