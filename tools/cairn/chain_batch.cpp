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
#include "json_text.hpp"
#include "lines.hpp"
#include "numbers.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

constexpr char const* example = "as in {\"chain\":{\"x\":[8,8],\"s\":[20],\"uf\":[1]},\"memory\":64}";

class chain_request_reader final : public cairn::chain_json_reader {
 public:
  chain_request_reader() : chain_json_reader{"cairn::chain", false} {}

  asked_chain asked;
  std::string id;  ///< as JSON; empty if there is none

  bool parse_error(std::size_t position, std::string const&, json::exception const&) override {
    throw wrong_request{"the line is not JSON at character " + std::to_string(position) + "; give one object, " +
                        example};
  }

 protected:
  void outer(std::string const& key, json const& is) override {
    for (auto const& earlier : seen_)
      if (earlier == key) throw wrong_request{key + " is given twice; give it once"};
    seen_.push_back(key);
    if (key == "id") {
      if (!is.is_string() && !is.is_number_integer())
        throw wrong_request{"id got " + is.dump() + "; give a whole number or a text"};
      id = is.dump(-1, ' ', false, json::error_handler_t::replace);
    } else if (is.is_structured()) {
      throw wrong_request{key + " got " + (is.is_array() ? "a list" : "an object") + "; give a number or a text"};
    } else {
      set(asked, key, is.is_string() ? is.get_ref<std::string const&>() : is.dump());
    }
  }

 private:
  std::vector<std::string> seen_;
};

/// \throws wrong_request, cairn::error
cairn::chain read_into(chain_request_reader& reader, std::string const& line) {
  if (line.empty()) throw wrong_request{std::string{"the line is empty; give one JSON object, "} + example};
  nlohmann::json::sax_parse(line.begin(), line.end(), &reader);
  return reader.take();
}

std::string chain_answer_of(std::string const& line, line_kind kind) {
  chain_request_reader reader;
  auto const error = [&](std::string_view text, std::string const& more = "") {
    return answer_object(reader.id, "\"error\":" + json_string(text) + more);
  };
  try {
    if (kind == line_kind::too_long)
      throw wrong_request{"the line is too long; a request has " + std::to_string(longest_chain_text) +
                          " characters at most"};
    auto work = read_into(reader, line);
    if (!reader.asked.memory && !reader.asked.time)
      throw wrong_request{"memory is not given; give the bytes that there are beside state 0"};
    refuse_two_budgets(reader.asked);
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

void answer_chain_lines(std::istream& from, std::ostream& to) {
  answer_each_line(from, to, longest_chain_text, chain_answer_of);
}

}  // namespace tool
