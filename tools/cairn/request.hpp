#pragma once
/// \file request.hpp  What a plan is asked for: the same words on the command line and in a line of JSON.
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <cairn/core/action.hpp>
#include <cairn/core/bytes.hpp>

namespace tool {

enum class schedule_kind : std::uint8_t { revolve, uniform, store_all };

[[nodiscard]] char const* name_of(schedule_kind kind) noexcept;

struct request {
  std::optional<cairn::step_index> steps;
  std::optional<cairn::slot_index> slots;
  std::optional<cairn::byte_size> memory, state, adjoint, tape;
  bool out_of_place = false;
  schedule_kind schedule = schedule_kind::revolve;
  std::optional<cairn::step_index> block;
};

/// One word of a request. In JSON it is the key, on the command line the option --key with '-' for '_'.
struct request_key {
  std::string_view name;
  char const* value;  ///< what to write after it; nullptr for a flag, which is true or false
  char const* help;
  void (*set)(request& asked, std::string_view name, std::string_view text);
};

[[nodiscard]] std::span<request_key const> request_keys() noexcept;

/// \param least  0 or 1   \throws wrong_request   for a text that is no whole number from `least` to 2^63-1
[[nodiscard]] std::int64_t count_of(std::string_view name, std::string_view text, std::int64_t least);

/// \throws wrong_request   for a key that there is not, and a text that is no value of it
void set(request& asked, std::string_view name, std::string_view text);

}  // namespace tool
