#include "request.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include <cairn/core/error.hpp>

#include "wrong_request.hpp"

namespace tool {
namespace {

constexpr schedule_kind kinds[] = {schedule_kind::revolve, schedule_kind::uniform, schedule_kind::store_all};

/// The text in quotes, cut where it is long.
std::string quoted(std::string_view text) {
  constexpr std::size_t most = 60;
  return '"' + std::string{text.substr(0, most)} + (text.size() > most ? "...\"" : "\"");
}

[[noreturn]] void refuse(std::string_view name, std::string_view text, char const* what_would_work) {
  throw wrong_request{std::string{name} + " got " + quoted(text) + "; give " + what_would_work};
}

cairn::byte_size size_of(std::string_view name, std::string_view text) {
  try {
    return text;
  } catch (cairn::error const& problem) {
    throw wrong_request{std::string{name} + (problem.what() + std::string_view{problem.operation()}.size())};
  }
}

constexpr request_key keys[] = {
    {"steps", "N", "steps of the loop", [](request& r, auto name, auto text) { r.steps = count_of(name, text, 0); }},
    {"slots", "S", "states kept at once, the initial one included", [](request& r, auto name, auto text) { r.slots = count_of(name, text, 0); }},
    {"memory", "BYTES", "budget for everything, e.g. 512MiB: the most slots that fit are taken",
     [](request& r, auto name, auto text) { r.memory = size_of(name, text); }},
    {"state", "BYTES", "size of one state; the answer then speaks of bytes, too",
     [](request& r, auto name, auto text) {
       if ((r.state = size_of(name, text)) == cairn::byte_size{}) refuse(name, text, "1 byte or more");
     }},
    {"adjoint", "BYTES", "size of the adjoint (that of a state)", [](request& r, auto name, auto text) { r.adjoint = size_of(name, text); }},
    {"tape", "BYTES", "what one call of the adjoint holds beside it (0)", [](request& r, auto name, auto text) { r.tape = size_of(name, text); }},
    {"out_of_place", nullptr, "the step reads one state and writes another",
     [](request& r, auto name, auto text) {
       if (text != "true" && text != "false") refuse(name, text, "true or false");
       r.out_of_place = text == "true";
     }},
    {"schedule", "NAME", "revolve, uniform or store_all (revolve)",
     [](request& r, auto name, auto text) {
       for (auto const kind : kinds)
         if (text == name_of(kind)) {
           r.schedule = kind;
           return;
         }
       refuse(name, text, "revolve, uniform or store_all");
     }},
    {"block", "K", "revolve: steps that one call of the adjoint reverses; uniform: steps from one checkpoint to the next",
     [](request& r, auto name, auto text) { r.block = count_of(name, text, 1); }},
};

}  // namespace

char const* name_of(schedule_kind kind) noexcept {
  switch (kind) {
    case schedule_kind::revolve: return "revolve";
    case schedule_kind::uniform: return "uniform";
    case schedule_kind::store_all: return "store_all";
  }
  return "";
}

std::span<request_key const> request_keys() noexcept { return keys; }

std::int64_t count_of(std::string_view name, std::string_view text, std::int64_t least) {
  std::int64_t number = 0;
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size() || number < least)
    refuse(name, text, least == 0 ? "a whole number from 0 to 9223372036854775807" : "a whole number from 1 to 9223372036854775807");
  return number;
}

void set(request& asked, std::string_view name, std::string_view text) {
  for (auto const& key : keys)
    if (key.name == name) return key.set(asked, name, text);
  std::string known;
  for (auto const& key : keys) known.append(known.empty() ? "" : ", ").append(key.name);
  throw wrong_request{quoted(name) + " is no key of a request; there are " + known + " and id"};
}

}  // namespace tool
