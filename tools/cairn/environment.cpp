// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <cairn/trace/environment.hpp>

#include "wrong_request.hpp"

namespace tool {

std::string environment_table() {
  auto const around = cairn::from_environment();
  std::vector<std::string> now;
  for (auto const& known : cairn::environment_names()) {
    auto const set = std::find_if(around.given.begin(), around.given.end(),
                                  [&](auto const& one) { return one.name == known.name; });
    now.push_back(set != around.given.end() ? plain(set->value) : "not set: " + std::string{known.fallback});
  }
  std::size_t names = 0, values = 0, words = 0;
  for (std::size_t k = 0; k < now.size(); ++k) {
    auto const& known = cairn::environment_names()[k];
    names = std::max(names, known.name.size());
    values = std::max(values, now[k].size());
    words = std::max(words, known.value.size());
  }
  std::string text;
  auto const row = [&](std::string_view name, std::string_view value, std::string_view word, std::string_view effect) {
    text.append(name).append(names + 2 - name.size(), ' ').append(value).append(values + 2 - value.size(), ' ');
    text.append(word).append(words + 2 - word.size(), ' ').append(effect) += '\n';
  };
  values = std::max(values, std::string_view{"now"}.size());
  row("variable", "now", "may be", "effect");
  for (std::size_t k = 0; k < now.size(); ++k) {
    auto const& known = cairn::environment_names()[k];
    row(known.name, now[k], known.value, known.effect);
  }
  if (!around.enabled) text += "CAIRN_ENABLE is off: no other variable has an effect.\n";
  return text;
}

}  // namespace tool
