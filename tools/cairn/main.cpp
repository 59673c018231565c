// SPDX-License-Identifier: Apache-2.0
// cairn: plans for reversing a loop, on the command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <ios>
#include <iostream>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cairn/core/error.hpp>
#include <cairn/plan/loop/advise.hpp>
#include <cairn/plan/loop/pareto.hpp>
#include <cairn/plan/loop/why_infeasible.hpp>
#include <cairn/plan/text/plan_text.hpp>
#include <cairn/schedule/fingerprint.hpp>
#include <cairn/version.hpp>

#include "actions.hpp"
#include "answer.hpp"
#include "batch.hpp"
#include "chain_batch.hpp"
#include "chain_command.hpp"
#include "draw_command.hpp"
#include "environment.hpp"
#include "explain.hpp"
#include "files.hpp"
#include "found_plans.hpp"
#include "front_text.hpp"
#include "graph_command.hpp"
#include "keys.hpp"
#include "loop.hpp"
#include "picture/pareto.hpp"
#include "pictures.hpp"
#include "planning.hpp"
#include "profile_check.hpp"
#include "profile_command.hpp"
#include "report.hpp"
#include "request.hpp"
#include "runs_command.hpp"
#include "savings.hpp"
#include "slowdown.hpp"
#include "trace_command.hpp"
#include "wrong_request.hpp"

namespace tool {
namespace {

/// The options of a command, as written by the user.
template <class Asked>
struct written {
  struct entry {
    key_of<Asked> const* key;
    CLI::Option* option;
    std::string text;
  };
  std::vector<entry> words;

  void add_to(CLI::App& command, std::span<key_of<Asked> const> keys) {
    for (auto const& key : keys) words.push_back({&key, nullptr, ""});
    for (auto& word : words) {
      std::string name = "--" + std::string{word.key->name};
      std::replace(name.begin(), name.end(), '_', '-');
      if (word.key->value == nullptr) word.option = command.add_flag(name, word.key->help);
      else word.option = command.add_option(name, word.text, word.key->help)->type_name(word.key->value);
    }
  }
  /// Whether nothing was given but what a batch takes.
  [[nodiscard]] bool suits_a_batch() const {
    return std::none_of(words.begin(), words.end(),
                        [](entry const& w) { return w.option->count() > 0 && w.key->name != "time_limit"; });
  }
  [[nodiscard]] Asked read() const {
    Asked asked;
    for (auto const& word : words)
      if (word.option->count() > 0)
        set(asked, word.key->name, word.key->value ? word.text : word.option->results().front());
    return asked;
  }
};

[[noreturn]] void refuse_beside_batch() {
  throw wrong_request{
      "--batch takes no other option but --time-limit, for all lines together; each line of standard input is a "
      "request of its own"};
}

/// Where and in which form a plan is shown.
struct outputs {
  bool batch = false, json = false, csv = false, json_actions = false, picture = false, memory_picture = false,
       fingerprint = false;
  std::string svg, memory_svg, parts_svg, title;

  void add_to(CLI::App& command) {
    command.add_flag("--json", json, "one JSON object instead of a table");
    command.add_flag("--csv", csv, "the actions, one a line, instead of a table");
    command.add_flag("--json-actions", json_actions, "the actions as JSON instead of a table");
    command.add_flag("--picture", picture, "the schedule in characters, after the table");
    command.add_flag("--memory-picture", memory_picture, "memory over time in characters, after the table");
    command.add_flag("--fingerprint", fingerprint, "32 digits over all actions, the same for plans that do the same");
    command.add_option("--svg", svg, "the schedule as a space-time diagram")->type_name("FILE");
    command.add_option("--memory-svg", memory_svg, "memory over time as a diagram")->type_name("FILE");
    command.add_option("--parts-svg", parts_svg, "what that memory is spent on as a diagram")->type_name("FILE");
    command.add_option("--title", title, "of the diagrams; by default they say what they show")->type_name("TEXT");
    command.add_flag("--batch", batch, "requests from standard input, one JSON object a line; one answer a line; with --time-limit for all together");
  }
  [[nodiscard]] bool draws() const {
    return picture || memory_picture || !svg.empty() || !memory_svg.empty() || !parts_svg.empty() || !title.empty();
  }
};

void plan(written<request> const& written, outputs const& wanted) {
  if (wanted.json + wanted.csv + wanted.json_actions + (wanted.picture || wanted.memory_picture) + wanted.fingerprint > 1)
    throw wrong_request{
        "--json, --csv, --json-actions, --picture and --fingerprint are ways of writing the answer; give one of them"};
  if (wanted.batch) {
    if (!written.suits_a_batch() || wanted.json || wanted.csv || wanted.json_actions || wanted.fingerprint ||
        wanted.draws())
      refuse_beside_batch();
    return answer_lines(std::cin, std::cout, written.read().time_limit);
  }
  planned const found = plan_of(written.read());
  std::vector<std::pair<std::string, std::string>> files;
  if (!wanted.svg.empty()) files.emplace_back(wanted.svg, schedule_svg(found, wanted.title));
  if (!wanted.memory_svg.empty()) files.emplace_back(wanted.memory_svg, memory_svg(found, wanted.title));
  if (!wanted.parts_svg.empty()) files.emplace_back(wanted.parts_svg, parts_svg(found, wanted.title));
  std::string drawn = wanted.picture ? '\n' + schedule_picture(found) : "";
  if (wanted.memory_picture) drawn += '\n' + memory_picture(found);
  if (wanted.csv) refuse_long_list(found.plan, "csv", most_csv_steps);
  if (wanted.json_actions) refuse_long_list(found.plan, "json-actions", most_json_steps);
  for (auto const& [name, picture] : files) write_file(name, picture);
  if (wanted.fingerprint) std::cout << cairn::fingerprint(found.plan).text() << '\n';
  else if (wanted.csv) write_actions_csv(std::cout, found.plan);
  else if (wanted.json_actions) write_actions_json(std::cout, found.plan);
  else std::cout << (wanted.json ? '{' + json_members(found) + "}\n" : table(found) + drawn);
}

void advise(written<asked_loop> const& written, bool json) {
  auto const asked = completed(written.read(), true);
  try {
    auto const advice = cairn::advise(*asked.memory, asked.work, asked.options);
    std::cout << (json ? advice_json(advice) + '\n' : advice_table(advice));
  } catch (cairn::infeasible_budget const&) {
    if (auto const why = cairn::why_infeasible(*asked.memory, asked.work))
      throw wrong_request{cairn::infeasibility_text(*why)};
    throw;
  }
}

/// How many plans are listed, and in which form.
struct comparison {
  std::string points, svg, parts_svg, title;
  bool csv = false, json = false;

  void add_to(CLI::App& command) {
    command.add_option("--points", points, "plans at most (40)")->type_name("K");
    command.add_flag("--csv", csv, "comma-separated, with numbers in full, instead of a table");
    command.add_flag("--json", json, "a JSON array of objects instead of a table");
    command.add_option("--svg", svg, "a picture: time or step calls over memory")->type_name("FILE");
    command.add_option("--parts-svg", parts_svg, "a picture: what the memory of each plan is spent on")
        ->type_name("FILE");
    command.add_option("--title", title, "of the pictures; by default they say what they show")->type_name("TEXT");
  }
};

void compare(written<asked_loop> const& written, comparison const& wanted) {
  auto const asked = completed(written.read(), false);
  if (wanted.csv && wanted.json) throw wrong_request{"--json and --csv are ways of writing the answer; give one of them"};
  constexpr std::int64_t most_points = 1000;
  auto const points =
      wanted.points.empty() ? std::int64_t(cairn::usual_pareto_points) : count_of("points", wanted.points, 1);
  if (points > most_points) refuse_value("points", wanted.points, "1 to 1000");
  auto const front = cairn::pareto(asked.work, std::size_t(points), asked.options);
  if (!wanted.svg.empty()) write_file(wanted.svg, picture::pareto_svg(front, wanted.title));
  if (!wanted.parts_svg.empty()) {
    auto parts = picture::pareto_breakdown(front);
    parts.title = wanted.title;
    write_file(wanted.parts_svg, breakdown_svg(parts));
  }
  std::cout << (wanted.csv    ? pareto_csv(front)
                : wanted.json ? plans_json(front) + '\n'
                              : pareto_table(front) + cairn::slots_note + '\n');
}

/// A chain from a file, or requests from lines.
struct chain_words {
  std::string file;
  chain_outputs outputs;
  bool batch = false;

  void add_to(CLI::App& command) {
    command.add_option("FILE", file, "the chain as JSON, - for standard input");
    command.add_flag("--json", outputs.json, "one JSON object, or an array of them, instead of a table");
    command.add_flag("--csv", outputs.csv, "what memory buys, comma-separated, with numbers in full");
    command.add_flag("--actions", outputs.actions, "the actions, as words on one line, instead of a table");
    command.add_flag("--pareto", outputs.pareto,
                     "what memory buys: the plans of which none is both smaller and faster");
    command.add_option("--points", outputs.points, "plans at most (40; 8 without --pareto)")->type_name("K");
    command.add_option("--svg", outputs.svg, "memory over time as a diagram")->type_name("FILE");
    command.add_option("--pareto-svg", outputs.pareto_svg, "makespan over memory as a diagram")->type_name("FILE");
    command.add_option("--title", outputs.title, "of the diagrams; by default they say what they show")
        ->type_name("TEXT");
    command.add_flag(
        "--batch", batch,
        "requests from standard input, one JSON object a line, whose memory does not count state 0; one answer a line; "
        "with --time-limit for all together");
  }
  [[nodiscard]] bool empty() const {
    return file.empty() && !outputs.json && !outputs.csv && !outputs.actions && !outputs.pareto &&
           outputs.points.empty() && outputs.svg.empty() && outputs.pareto_svg.empty() &&
           outputs.title.empty();
  }
};

void chain(written<asked_chain> const& written, chain_words const& wanted) {
  if (!wanted.batch) return answer_chain(std::cout, wanted.file, written.read(), wanted.outputs);
  if (!written.suits_a_batch() || !wanted.empty()) refuse_beside_batch();
  answer_chain_lines(std::cin, std::cout, written.read().time_limit);
}

/// A graph and the request about it.
struct graph_words {
  asked_graph to_plan, to_explain, to_draw;

  void add_to(CLI::App& command) {
    command.require_subcommand(1);
    auto const add = [&](char const* name, char const* help, asked_graph& asked) -> CLI::App& {
      auto& made = *command.add_subcommand(name, help);
      made.add_option("FILE", asked.file, "the graph as JSON, - for standard input");
      return made;
    };
    auto& planning = add("plan", "The fastest plan within a budget, or what memory buys", to_plan);
    planning.add_option("--memory", to_plan.memory, "budget, e.g. 4GB: the fastest plan within it")->type_name("BYTES");
    planning.add_option("--points", to_plan.points, "plans at most, without a budget (8)")->type_name("K");
    planning.add_flag("--json", to_plan.json, "one JSON object, or an array of them, instead of a table");
    planning.add_flag("--actions", to_plan.actions, "the actions, as words on one line, instead of a table");
    planning.add_option("--svg", to_plan.svg, "memory over time as a diagram")->type_name("FILE");
    planning.add_option("--title", to_plan.title, "of the diagram")->type_name("TEXT");
    add("explain", "What a graph takes at least and at most, and its values that lie idle", to_explain);
    auto& drawing = add("svg", "Memory over time of a plan as a diagram, on standard output", to_draw);
    drawing.add_option("--memory", to_draw.memory, "budget of the plan (all that it takes)")->type_name("BYTES");
    drawing.add_option("--svg", to_draw.svg, "a file for the diagram")->type_name("FILE");
    drawing.add_option("--title", to_draw.title, "of the diagram")->type_name("TEXT");
  }
  void answer(CLI::App const& command) const {
    if (command.got_subcommand("plan")) plan_graph(std::cout, to_plan);
    else if (command.got_subcommand("explain")) explain_graph(std::cout, to_explain);
    else draw_graph(std::cout, to_draw);
  }
};

/// A trace and what to do with it.
struct trace_words {
  std::string to_summarize, to_repair, rows;

  void add_to(CLI::App& command) {
    command.require_subcommand(1);
    auto& summing = *command.add_subcommand("summarize", "Where the time went: by phase, by layer, by operation");
    summing.add_option("FILE", to_summarize, "the trace");
    summing.add_option("--rows", rows, "rows of each table at most (20)")->type_name("K");
    command.add_subcommand("repair", "Makes a trace whole whose program was killed")
        ->add_option("FILE", to_repair, "the trace, which is replaced");
  }
  [[nodiscard]] std::string answer(CLI::App const& command) const {
    return command.got_subcommand("repair") ? trace_repair_of(to_repair) : trace_summary_of(to_summarize, rows);
  }
};

void savings(std::vector<std::string> const& lengths, std::string const& checkpoints) {
  std::vector<cairn::step_index> steps;
  for (auto const& text : lengths) steps.push_back(count_of("N", text, 0));
  std::cout << savings_table(
      steps, checkpoints.empty() ? std::nullopt : std::optional{count_of("checkpoints", checkpoints, 0)});
}

/// The command that was given, with those that it is of: "cairn graph plan".
std::string name_of(CLI::App const& app) {
  auto const given = app.get_subcommands();
  return app.get_name() + (given.empty() ? "" : ' ' + name_of(*given.front()));
}
CLI::App const& last_command(CLI::App const& app) {
  auto const given = app.get_subcommands();
  return given.empty() ? app : last_command(*given.front());
}

/// What to say where a command is asked for and none is named; nothing if there is one.
std::optional<std::string> missing_command(CLI::App const& app, int count, char const* const* words) {
  CLI::App const* within = &app;
  for (int k = 1;; ++k) {
    auto const known = within->get_subcommands([](CLI::App const*) { return true; });
    std::string const word = k < count ? words[k] : "";
    if (known.empty() || word.starts_with('-')) return std::nullopt;
    auto const named =
        std::find_if(known.begin(), known.end(), [&](auto const* one) { return one->get_name() == word; });
    if (named == known.end()) {
      std::string const own = within == &app ? "" : within->get_name(), place = own.empty() ? "" : " of " + own;
      std::string text = k < count ? tool::quoted(word) + " is not a command" + place
                                   : "no command" + place + " is given";
      for (auto const* one : known) text.append(one == known.front() ? "; give one of " : ", ").append(one->get_name());
      return text + "; cairn " + (own.empty() ? "" : own + ' ') + "--help says what each does";
    }
    within = *named;
  }
}

/// The fewest letters to put in, leave out or change to make one word of the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t k = 0; k < row.size(); ++k) row[k] = k;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t before = row[0]++;
    for (std::size_t k = 0; k < b.size(); ++k) {
      auto const changed = before + (a[i] != b[k]);
      before = row[k + 1];
      row[k + 1] = std::min({changed, before + 1, row[k] + 1});
    }
  }
  return row.back();
}

/// What to say of a word that the command does not take.
std::string unknown_word(CLI::App const& command) {
  auto const extra = command.remaining();
  auto const at = std::find_if(extra.begin(), extra.end(), [](auto const& word) { return word.starts_with('-'); });
  if (at == extra.end()) return tool::quoted(extra.empty() ? "" : extra.front()) + " is a word too many";
  std::string const word = at->substr(0, at->find('='));
  std::string nearest;
  for (auto const* option : command.get_options()) {
    std::string const name = option->get_name();
    if (name.starts_with("--") && (name.starts_with(word) || distance(word, name) <= 2) &&
        (nearest.empty() || distance(word, name) < distance(word, nearest)))
      nearest = name;
  }
  return tool::quoted(word) + " is not an option here" + (nearest.empty() ? "" : ", but " + nearest + " is");
}

int refuse(std::string const& what) {
  std::fprintf(stderr, "cairn: %s\n", what.c_str());
  return 2;
}

int written_to_the_end() {
  std::cout.flush();
  if (std::cout) return 0;
  std::fputs("cairn: the answer could not be written to standard output\n", stderr);
  return 1;
}

/// The commands: what each may be given, and what it does.
class commands {
 public:
  explicit commands(CLI::App& app) : app_{app} {
    add_loops();
    add_chains_and_graphs();
    add_figures();
    add_files();
    add("version", "The version", [] { std::cout << "cairn " CAIRN_VERSION_STRING "\n"; });
  }
  commands(commands const&) = delete;  // options refer to members
  /// Answers the command that was given.
  void answer() const {
    for (auto const& [command, does] : answers_)
      if (command->parsed()) return does();
  }

 private:
  CLI::App& add(char const* name, char const* help, std::function<void()> does) {
    auto& command = *app_.add_subcommand(name, help);
    answers_.emplace_back(&command, std::move(does));
    return command;
  }
  void add_loops() {
    auto& planning = add("plan", "Figures, actions and pictures of a plan", [this] { plan(to_plan_, wanted_); });
    to_plan_.add_to(planning, request_keys());
    wanted_.add_to(planning);
    to_explain_.add_to(add("explain", "A plan in words, with what is the least and what other slots would do",
                           [this] { std::cout << explanation(to_explain_.read()); }),
                       request_keys());
    auto& advising = add("advise", "The cheapest plan over all schedules within a budget, and the others",
                         [this] { advise(to_advise_, advice_as_json_); });
    to_advise_.add_to(advising, loop_keys());
    advising.add_flag("--json", advice_as_json_, "one JSON object instead of a table");
    auto& comparing = add("pareto", "What memory buys: the plans of which none is both smaller and faster",
                          [this] { compare(to_compare_, compared_); });
    to_compare_.add_to(comparing, loop_keys());
    compared_.add_to(comparing);
  }
  void add_figures() {
    auto& slowing = add("slots", "The fewest slots for a wanted slow-down", [this] {
      std::cout << slots_text(count_of("steps", steps_to_slow_, 0), number_of("slowdown", slowdown_));
    });
    slowing.add_option("--steps", steps_to_slow_, "steps of the loop")->type_name("N")->required();
    slowing.add_option("--slowdown", slowdown_, "step calls per step of the loop; 1 for store_all")
        ->type_name("R")
        ->required();
    auto& saving =
        add("savings", "What evenly spaced checkpoints save", [this] { savings(lengths_, checkpoints_); });
    saving.add_option("N", lengths_, "steps of the loop")->required();
    saving.add_option("--checkpoints", checkpoints_, "how many (the square root of the steps)")->type_name("K");
  }
  void add_chains_and_graphs() {
    auto& chaining = add("chain", "The fastest plan for stages that differ within a budget, and what memory buys",
                         [this] { chain(to_chain_, chained_); });
    to_chain_.add_to(chaining, chain_keys());
    chained_.add_to(chaining);
    graphed_.add_to(add("graph", "Plans for a graph of operations, such as a network with skip connections",
                        [this] { graphed_.answer(*app_.get_subcommand("graph")); }));
  }
  void add_files() {
    auto& profiling = add("profile", "Tables and pictures of a measured graph or chain: time and memory of each node",
                          [this] {
                            std::cout << (!checked_folder_.empty() ? checked_profiles(checked_folder_, message_of)
                                          : !drawn_folder_.empty() ? profile_pictures_of(drawn_folder_)
                                                                   : profile_files_of(profiled_, profile_folder_));
                          });
    auto* const file = profiling.add_option(
        "FILE", profiled_, "the graph or the chain as JSON, times in nanoseconds; - for standard input");
    auto* const out = profiling.add_option("--out", profile_folder_, "where they go (the present folder)");
    out->type_name("FOLDER");
    auto* const drawing =
        profiling.add_option("--draw", drawn_folder_, "only draw the tables in a folder that a program has written")
            ->type_name("FOLDER")
            ->excludes(file)
            ->excludes(out);
    profiling.add_option("--check", checked_folder_, "only check that all files of the profiles in a folder are sound")
        ->type_name("FOLDER")
        ->excludes(file)
        ->excludes(out)
        ->excludes(drawing);
    auto& tabled = add("draw", "A table that a program has written as a picture: memory, parts of wholes, batches",
                       [this] { std::cout << drawing_of(drawn_); });
    tabled.add_option("FILE", drawn_.file, "the table, comma-separated; - for standard input");
    tabled.add_option("--svg", drawn_.svg, "a file for the picture (standard output)")->type_name("FILE");
    tabled.add_option("--title", drawn_.title, "of the picture; by default it says what it shows")->type_name("TEXT");
    tabled.add_option("--unit", drawn_.unit, "of parts: bytes (default), nanoseconds or count")->type_name("UNIT");
    tabled.add_option("--across", drawn_.across, "of curves without times: what a sample is (action)")
        ->type_name("WORD");
    tabled.add_option("--limit", drawn_.limit, "of batches: a size that a line marks")->type_name("BYTES");
    tabled.add_flag("--predicted", drawn_.predicted, "of curves: the first is a prediction, which the others are compared with");
    traced_.add_to(add("trace", "Traces of programs: what is in them, and those that are torn",
                       [this] { std::cout << traced_.answer(*app_.get_subcommand("trace")); }));
    auto& inspecting = add("inspect", "The runs that a program keeps on disk, and how far each is",
                           [this] { std::cout << runs_of(inspected_); });
    inspecting.add_option("DIR", inspected_.folder, "the folder that the program keeps its runs in");
    inspecting.add_flag("--check", inspected_.check, "read every byte, so that damage within files is found, too");
    inspecting.add_flag("--parts", inspected_.parts, "what each run is known by: its plan, x0, p, key, functions, build");
    inspecting.add_flag("--json", inspected_.json, "one JSON object instead of a table");
    auto& collecting = add("gc", "What of these runs no process needs any more, and its removal",
                           [this] { std::cout << removal_of(collected_); });
    collecting.add_option("DIR", collected_.folder, "the folder that the program keeps its runs in");
    collecting.add_option("--keep", collected_.keep, "finished runs as well, but for the K that were written last")
        ->type_name("K");
    collecting.add_option("--older-than", collected_.older_than, "runs as well that were not written for so many days")
        ->type_name("DAYS");
    collecting.add_flag("--yes", collected_.yes, "remove it; otherwise it is only shown");
    collecting.add_flag("--json", collected_.json, "one JSON object instead of a table");
    add("report", "What is in a CSV or JSON of plans or of a profile, with units",
        [this] { std::cout << report_of(reported_); })
        .add_option("FILE", reported_, "the file, - for standard input");
    add("env", "What programs take from the environment, as it is now", [] { std::cout << environment_table(); });
  }

  CLI::App& app_;
  std::vector<std::pair<CLI::App*, std::function<void()>>> answers_;
  written<request> to_plan_, to_explain_;
  written<asked_loop> to_advise_, to_compare_;
  written<asked_chain> to_chain_;
  outputs wanted_;
  bool advice_as_json_ = false;
  comparison compared_;
  std::string steps_to_slow_, slowdown_, checkpoints_;
  std::vector<std::string> lengths_;
  chain_words chained_;
  graph_words graphed_;
  trace_words traced_;
  asked_runs inspected_, collected_;
  std::string profiled_, profile_folder_, checked_folder_, drawn_folder_, reported_;
  asked_drawing drawn_;
};

int run(int count, char** words) {
  CLI::App app{
      "Plans for reversing a loop of many steps, a chain of stages or a graph of operations, in a small memory."};
  app.name("cairn");
  app.require_subcommand(1);
  app.footer("Sizes are written as 100, 64kB, 1.5GB or 512MiB. Exit status: 0, or 2 for what cannot be done as asked.");
  app.set_version_flag("--version", "cairn " CAIRN_VERSION_STRING, "The version");
  commands const known{app};
  if (auto const wrong = missing_command(app, count, words)) return refuse(plain(*wrong));

  try {
    app.parse(count, words);
  } catch (CLI::Success const& asked) {
    (void)app.exit(asked);
    return written_to_the_end();
  } catch (CLI::ParseError const& problem) {
    bool const unknown = dynamic_cast<CLI::ExtrasError const*>(&problem) != nullptr;
    auto const what = unknown ? unknown_word(last_command(app)) : problem.what();
    return refuse(plain(what + "; " + name_of(app) + " --help lists what there is"));
  }
  try {
    known.answer();
  } catch (wrong_request const& problem) {
    return refuse(problem.what());
  } catch (cairn::error const& problem) {
    return refuse(plain(message_of(problem)));  // names of files may have ends of lines
  } catch (std::bad_alloc const&) {
    return refuse("there is not enough memory to walk this plan; give fewer steps or slots");
  } catch (std::ios_base::failure const&) {
    return refuse("standard input cannot be read; give a file or a pipe that may be read");
  }
  return written_to_the_end();
}

}  // namespace
}  // namespace tool

int main(int count, char** words) {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  return tool::run(count, words);
}
