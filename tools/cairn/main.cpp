// cairn: plans for reversing a loop, from the command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/version.hpp>

#include "actions_csv.hpp"
#include "answer.hpp"
#include "batch.hpp"
#include "explain.hpp"
#include "pictures.hpp"
#include "planning.hpp"
#include "request.hpp"
#include "savings.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

/// The options of a request as they were written.
struct written_request {
  struct entry {
    request_key const* key;
    CLI::Option* option;
    std::string text;
  };
  std::vector<entry> words;

  void add_to(CLI::App& command) {
    for (auto const& key : request_keys()) words.push_back({&key, nullptr, "true"});
    for (auto& word : words) {
      std::string name = "--" + std::string{word.key->name};
      std::replace(name.begin(), name.end(), '_', '-');
      if (word.key->value == nullptr) word.option = command.add_flag(name, word.key->help);
      else word.option = command.add_option(name, word.text, word.key->help)->type_name(word.key->value);
    }
  }
  [[nodiscard]] bool empty() const {
    return std::none_of(words.begin(), words.end(), [](entry const& w) { return w.option->count() > 0; });
  }
  [[nodiscard]] request read() const {
    request asked;
    for (auto const& word : words)
      if (word.option->count() > 0) set(asked, word.key->name, word.text);
    return asked;
  }
};

/// Where and how a plan is shown.
struct outputs {
  bool batch = false, json = false, csv = false, picture = false;
  std::string svg, memory_svg;

  void add_to(CLI::App& command) {
    command.add_flag("--json", json, "one JSON object instead of a table");
    command.add_flag("--csv", csv, "the actions, one a line, instead of a table");
    command.add_flag("--picture", picture, "the schedule in characters, after the table");
    command.add_option("--svg", svg, "the schedule as a space-time diagram")->type_name("FILE");
    command.add_option("--memory-svg", memory_svg, "memory over time as a diagram")->type_name("FILE");
    command.add_flag("--batch", batch, "requests from standard input, one JSON object a line; one answer a line");
  }
};

void write_file(std::string const& name, std::string const& text) {
  std::ofstream file{name, std::ios::binary};
  file << text;
  file.close();
  if (!file) throw wrong_request{"\"" + name + "\" cannot be written; give a file in a folder that is there and may be written to"};
}

void plan(written_request const& written, outputs const& wanted) {
  if (wanted.json + wanted.csv + wanted.picture > 1) throw wrong_request{"json, csv and picture are ways of writing the answer; give one of them"};
  if (wanted.batch) {
    if (!written.empty() || wanted.json || wanted.csv || wanted.picture || !wanted.svg.empty() || !wanted.memory_svg.empty())
      throw wrong_request{"batch takes no other options; each line of standard input is a request of its own"};
    return answer_lines(std::cin, std::cout);
  }
  planned const found = plan_of(written.read());
  std::string const schedule_file = wanted.svg.empty() ? "" : schedule_svg(found);
  std::string const memory_file = wanted.memory_svg.empty() ? "" : memory_svg(found);
  std::string const drawn = wanted.picture ? '\n' + schedule_picture(found) : "";
  if (wanted.csv) refuse_long_list(found.plan);
  if (!wanted.svg.empty()) write_file(wanted.svg, schedule_file);
  if (!wanted.memory_svg.empty()) write_file(wanted.memory_svg, memory_file);
  if (wanted.csv) write_actions(std::cout, found.plan);
  else std::cout << (wanted.json ? '{' + json_members(found) + "}\n" : table(found) + drawn);
}

void savings(std::vector<std::string> const& lengths, std::string const& checkpoints) {
  std::vector<cairn::step_index> steps;
  for (auto const& text : lengths) steps.push_back(count_of("N", text, 0));
  std::cout << savings_table(steps, checkpoints.empty() ? std::nullopt : std::optional{count_of("checkpoints", checkpoints, 0)});
}

int refuse(std::string const& what) {
  std::fprintf(stderr, "cairn: %s\n", what.c_str());
  return 2;
}

int run(int count, char** words) {
  CLI::App app{"Plans for reversing a loop of many steps in a small memory."};
  app.name("cairn");
  app.require_subcommand(1);
  app.footer("Sizes are written as 100, 64kB, 1.5GB or 512MiB. Exit status: 0, or 2 for what cannot be done as asked.");
  written_request to_plan, to_explain;
  outputs wanted;
  std::vector<std::string> lengths;
  std::string checkpoints;

  auto& planning = *app.add_subcommand("plan", "Figures, actions and pictures of a plan");
  to_plan.add_to(planning);
  wanted.add_to(planning);
  auto& explaining = *app.add_subcommand("explain", "A plan in words, with what is the least and what other slots would do");
  to_explain.add_to(explaining);
  auto& saving = *app.add_subcommand("savings", "What evenly spaced checkpoints save");
  saving.add_option("N", lengths, "steps of the loop")->required();
  saving.add_option("--checkpoints", checkpoints, "how many (the square root of the steps)")->type_name("K");
  app.add_subcommand("version", "The version");

  try {
    app.parse(count, words);
  } catch (CLI::Success const& asked) {
    return app.exit(asked);
  } catch (CLI::ParseError const& problem) { 
    return refuse(problem.what() + std::string{"; cairn --help and cairn COMMAND --help list what there is"});
  }
  try {
    if (app.got_subcommand("plan")) plan(to_plan, wanted);
    else if (app.got_subcommand("explain")) std::cout << explanation(plan_of(to_explain.read()));
    else if (app.got_subcommand("savings")) savings(lengths, checkpoints);
    else std::cout << "cairn " CAIRN_VERSION_STRING "\n";
  } catch (wrong_request const& problem) {
    return refuse(problem.what());
  } catch (cairn::error const& problem) {
    return refuse(message_of(problem));
  } catch (std::bad_alloc const&) { return refuse("there is not enough memory to walk this plan; give fewer steps or slots"); }
  std::cout.flush();
  if (std::cout) return 0;
  std::fputs("cairn: the answer could not be written to standard output\n", stderr);
  return 1;
}

}  // namespace
}  // namespace tool

int main(int count, char** words) {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  return tool::run(count, words);
}
