// SPDX-License-Identifier: Apache-2.0
// Plans for chains as words, tables and pictures.
#include <cairn/plan/chain/detail/chain_model.hpp>
#include <cairn/plan/chain/replay.hpp>
#include <cairn/plan/text/detail/ticks.hpp>
#include <cairn/plan/text/chain_svg.hpp>
#include <cairn/plan/text/action_limits.hpp>
#include <cairn/plan/text/chain_text.hpp>
#include <cairn/plan/text/figure_text.hpp>
#include <cairn/plan/text/chain_words.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/chain_kinds.hpp"
#include "support/chain_stages.hpp"

using namespace cairn;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using namespace chain_actions;

namespace {

std::vector<action> storing_all(std::int64_t stages) {
  std::vector<action> plan;
  for (std::int64_t i = 0; i < stages; ++i) plan.push_back(record(i));
  plan.push_back(turn(stages));
  for (std::int64_t i = stages; i-- > 0;) plan.push_back(reverse(i));
  return plan;
}
/// Keeps every state in the forward run and records one stage at a time.
std::vector<action> one_tape(std::int64_t stages) {
  std::vector<action> plan;
  for (std::int64_t i = 0; i + 1 < stages; ++i) plan.push_back(advance(i));
  if (stages > 0) plan.push_back(record(stages - 1));
  plan.push_back(turn(stages));
  for (std::int64_t i = stages; i-- > 0;) {
    if (i + 1 < stages) plan.push_back(record(i));
    plan.push_back(reverse(i));
    if (i > 0) plan.push_back(drop(i));
  }
  return plan;
}
/// Runs from state 0 for each stage, keeping nothing.
std::vector<action> one_state(std::int64_t stages) {
  std::vector<action> plan;
  if (stages == 0) plan.push_back(turn(0));
  for (std::int64_t i = stages; i-- > 0;) {
    for (std::int64_t k = 0; k < i; ++k) {
      plan.push_back(advance(k));
      if (k > 0) plan.push_back(drop(k));
    }
    plan.push_back(record(i));
    if (i + 1 == stages) plan.push_back(turn(stages));
    plan.push_back(reverse(i));
    if (i > 0) plan.push_back(drop(i));
  }
  return plan;
}
chain_plan planned(chain const& work, std::vector<action> actions) {
  chain_plan plan;
  plan.actions = std::move(actions);
  plan.cost = replay(work, plan.actions);
  plan.budget = plan.cost.peak;
  plan.by = chain_method::persistent;
  plan.proof.lower_bound_time = detail::chain_model{work, "test"}.store_all_time();
  plan.proof.lower_bound_peak = 1;
  return plan;
}

std::string between(std::string const& text, std::string const& open, std::string const& close) {
  auto const from = text.find(open);
  if (from == std::string::npos) return "";
  auto const start = from + open.size();
  return text.substr(start, text.find(close, start) - start);
}
/// The data of the path of that class among the marks.
std::string path_of(std::string const& svg, std::string const& kind) {
  return between(between(between(svg, "<g class=\"marks\">", "</g>"), "<path class=\"" + kind + "\"", "/>"), " d=\"",
                 "\"");
}
struct corner {
  double x, y;
};
/// Corners of a path of M, H and V.
std::vector<corner> corners_of(std::string const& data) {
  std::vector<corner> all;
  for (char const* at = data.c_str(); *at != '\0';) {
    char const letter = *at++;
    char* end = nullptr;
    if (letter == 'Z' || letter == 'h' || letter == 'm' || letter == 'a') break;
    double const first = std::strtod(at, &end);
    corner next = all.empty() ? corner{} : all.back();
    if (letter == 'M') next.x = first, next.y = std::strtod(end, &end);
    else (letter == 'H' ? next.x : next.y) = first;
    all.push_back(next);
    at = end;
  }
  return all;
}
/// What a line of steps shows at `x`.
double height_at(std::vector<corner> const& path, double x) {
  for (std::size_t k = 1; k < path.size(); ++k)
    if (path[k - 1].x <= x && x < path[k].x) return path[k].y;
  return -1;
}
/// Bytes of the states and tapes that are kept, which `replay` does not report by themselves.
class standing_tally {
 public:
  explicit standing_tally(chain const& work) : work_{work} {}
  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (auto const i : states_) sum += work_.x[std::size_t(i)];
    for (auto const i : tapes_) sum += work_.s[std::size_t(i)];
    return sum;
  }
  void obey(action const& a) {
    if (a.kind == cairn::action_kind::advance) states_.insert(a.from + 1);
    if (a.kind == cairn::action_kind::record || a.kind == cairn::action_kind::reverse) states_.erase(a.from + 1);
    if (a.kind == cairn::action_kind::drop || a.kind == cairn::action_kind::turn) states_.erase(a.from);
    if (a.kind == cairn::action_kind::record) tapes_.insert(a.from);
    if (a.kind == cairn::action_kind::reverse) tapes_.erase(a.from);
  }

 private:
  chain const& work_;
  std::set<std::int64_t> states_, tapes_;
};
bool near(double drawn, double meant) { return std::abs(drawn - meant) <= 0.005 + 1e-9; }

}  // namespace

TEST_CASE("plans come back from their words", "[plan][chain]") {
  for (std::int64_t const stages : {0, 1, 2, 3, 9})
    for (auto const& plan : {storing_all(stages), one_tape(stages), one_state(stages)}) {
      auto const words = chain_words(plan);
      CAPTURE(words);
      CHECK(read_chain_words(words) == plan);
    }
  CHECK(chain_words(storing_all(2)) == "Fall0 Fall1 Loss2 B1 B0");
  CHECK(chain_words(one_tape(3)) == "Fck0 Fck1 Fall2 Loss3 B2 Fall1 B1 Fall0 B0");
  CHECK(chain_words(one_state(3)) == "Fck0 Fn1 Fall2 Loss3 B2 Fck0 Fall1 B1 Fall0 B0");
  CHECK(chain_words({}).empty());
  CHECK(read_chain_words(" \n\t ").empty());
  // clang-format off
  std::vector<action> const sound{record(0), record(1), advance(1), drop(2), save(1, tier::disk), advance(2), drop(2),
                                  drop_tape(1), turn(3), reverse(2), drop(1), load(1, tier::disk),
                                  drop(1, tier::disk), reverse(1), save(12, tier::device)};
  // clang-format on
  CHECK(
      chain_words(sound) ==
      "Fall0 Fall1 Fck1 Drop2 Save1:disk Fck2 Drop2 DropTape1 Loss3 B2 Drop1 Load1:disk Drop1:disk Bck1 Save12:device");
  CHECK(read_chain_words(chain_words(sound)) == sound);
}

TEST_CASE("any list of actions on tiers that are there comes back from its words", "[plan][chain]") {
  std::mt19937_64 numbers{5};
  for (int run = 0; run < 20'000; ++run) {
    std::vector<action> plan;
    for (std::size_t k = numbers() % 30; k-- > 0;) {
      std::size_t const kind = numbers() % 8;
      bool const elsewhere = kind > 5 || (kind == 2 && numbers() % 3 == 0);
      tier const where = elsewhere ? tier(1 + numbers() % 3) : tier::memory;
      plan.push_back(chain_stages::all_actions[kind](std::int64_t(numbers() % 4), where));
    }
    INFO(chain_words(plan));
    REQUIRE(read_chain_words(chain_words(plan)) == plan);
  }
}

TEST_CASE("words that are no actions are refused with their number", "[plan][chain]") {
  auto const said_of = [](std::string_view words) -> std::string {
    try {
      (void)read_chain_words(words);
    } catch (parse_error const& found) {
      return found.what();
    }
    return "";
  };
  for (auto const* word : {"Run3", "fck3", "Fckx", "3", ":disk", "F", "B-1", "\xff"})
    CHECK_THAT(said_of("Fall0 " + std::string{word}),
               ContainsSubstring("no such action of a chain") && ContainsSubstring("word = 1"));
  for (auto const* word : {"Fck", "B3x", "Loss1.5", "Drop99999999999999999999", "Fn2147483648"})
    CHECK_THAT(said_of("Fall0 Fall1 " + std::string{word}),
               ContainsSubstring("lacks the number of its stage") && ContainsSubstring("word = 2"));
  for (auto const* word : {"Save3", "Load3", "Save3:memory", "Save3:", "Save3:tape", "Drop3:", "Drop3:memory",
                           "Fck3:disk", "B3:disk", "DropTape3:disk", "Fck3:"})
    CHECK_THAT(said_of(word), ContainsSubstring("names no place, or a wrong one") && ContainsSubstring("word = 0"));
}

TEST_CASE("the curve of a plan has the peak that replay counts, and its sums of time", "[plan][chain][picture]") {
  for (auto const of : chains::all_kinds)
    for (int const stages : {0, 1, 2, 5, 12}) {
      auto const work = chains::with_odd_adjoints(chains::make(of, stages, 11), 4);
      for (auto const& plan : {storing_all(stages), one_tape(stages), one_state(stages)}) {
        auto const cost = replay(work, plan);
        auto const curve = chain_memory_over(work, plan);
        REQUIRE(curve.moments.size() == plan.size());
        CHECK(curve.peak == cost.peak);
        CHECK(curve.moments[curve.summit].held == curve.peak);
        CHECK(std::none_of(curve.moments.begin(), curve.moments.begin() + std::ptrdiff_t(curve.summit),
                           [&](chain_moment const& at) { return at.held >= curve.peak; }));
        CHECK(curve.moments.back().end == wide(cost.makespan));
        CHECK(curve.moments.front().standing == 0);
        wide now = 0;
        standing_tally tally{work};
        for (std::size_t k = 0; k < plan.size(); ++k) {
          auto const& at = curve.moments[k];
          CHECK((at.begin == now && at.end >= at.begin));
          CHECK((at.standing == tally.bytes() && at.standing <= at.held));
          now = at.end;
          tally.obey(plan[k]);
        }
      }
    }
}

TEST_CASE("saves and loads take their place in the curve", "[plan][chain][picture]") {
  chain const work{.x = {1, 2, 4}, .s = {5, 6}, .u = {10, 20}, .v = {30, 40, 50}};
  std::vector<action> const plan{advance(0), save(1, tier::disk), record(1),           drop(1),
                                 turn(2),    load(1, tier::disk), drop(1, tier::disk), reverse(1),
                                 drop(1),    record(0),           reverse(0)};
  chain_tier const disk{.where = tier::disk, .write = {0, 100, 0}, .read = {0, 200, 0}};
  auto const cost = replay(work, plan, {&disk, 1});
  auto const curve = chain_memory_over(work, plan, {&disk, 1});
  CHECK(curve.moments.back().end == wide(cost.makespan));
  CHECK(curve.moments[1].end - curve.moments[1].begin == 100);
  CHECK(curve.moments[5].end - curve.moments[5].begin == 200);
  CHECK(curve.peak == cost.peak);
  CHECK_THAT(chain_memory_svg(work, plan, "", {&disk, 1}), StartsWith("<svg"));
}

TEST_CASE("a picture of memory shows what is held between actions and in the middle of each",
          "[plan][chain][picture]") {
  for (auto const of : chains::all_kinds)
    for (int const stages : {1, 2, 5, 12}) {
      auto const work = chains::make(of, stages, 11);
      for (auto const& plan : {storing_all(stages), one_tape(stages), one_state(stages)}) {
        auto const curve = chain_memory_over(work, plan);
        auto const svg = chain_memory_svg(work, plan);
        double const bottom = std::stod(between(svg, "viewBox=\"0 0 800 ", "\"")) - 50,
                     all = double(curve.moments.back().end);
        auto const held = corners_of(path_of(svg, "held")), kept = corners_of(path_of(svg, "kept"));
        bool good = true;
        for (auto const& at : curve.moments) {
          double const x = 80 + 690 * (double(at.begin) + double(at.end)) / 2 / all;
          if (690 * double(at.end - at.begin) / all < 0.1) continue;  // thinner than what coordinates can say
          good = good && near(height_at(held, x), bottom - 320 * double(at.held) / double(curve.peak)) &&
                 near(height_at(kept, x), bottom - 320 * double(at.standing) / double(curve.peak));
        }
        CHECK(good);
        CHECK(std::any_of(held.begin(), held.end(), [&](corner const& at) { return near(at.y, bottom - 320); }));
        CHECK_THAT(between(svg, "<desc>", "</desc>"), ContainsSubstring("peak " + detail::grouped(wide(curve.peak))));
        CHECK(between(svg, "<title>", "</title>") ==
              "Memory of a plan for a chain of " + std::to_string(stages) + (stages == 1 ? " stage" : " stages"));
      }
    }
  chain const timeless{.x = {1, 1, 1}, .s = {2, 2}, .u = {0, 0}};
  auto const svg = chain_memory_svg(timeless, storing_all(2), "<&>");
  CHECK_THAT(svg, ContainsSubstring(">action</text>"));
  CHECK(between(svg, "<title>", "</title>") == "&lt;&amp;&gt;");
  CHECK(corners_of(path_of(svg, "held")).back().x == 770);
}

TEST_CASE("what cannot be drawn is refused before it is drawn", "[plan][chain][picture]") {
  auto const work = chains::make(chains::kind::uniform, 3, 1);
  CHECK_THROWS_AS(chain_memory_svg(work, {}), invalid_schedule);
  CHECK_THROWS_AS(chain_memory_svg(work, storing_all(2)), invalid_schedule);
  CHECK_THROWS_AS(chain_memory_svg(work, storing_all(4)), invalid_schedule);
  std::vector<action> const one{advance(-1)};
  CHECK_THROWS_AS(chain_memory_over(work, one), invalid_schedule);
  std::vector<action> lengthy = storing_all(3);
  lengthy.insert(lengthy.begin(), most_drawn_actions, advance(0));
  CHECK_THROWS_AS(chain_memory_svg(work, lengthy), invalid_plan);
  chain const torn{.x = {1, 1}, .s = {}, .u = {1}};
  CHECK_THROWS_AS(chain_memory_svg(torn, storing_all(1)), invalid_plan);
}

TEST_CASE("a picture of what memory buys has a dot a plan above the line of the bound", "[plan][chain][picture]") {
  auto const work = chains::make(chains::kind::lstm, 12, 3);
  std::vector<chain_plan> front{planned(work, one_state(12)), planned(work, one_tape(12)),
                                planned(work, storing_all(12))};
  REQUIRE((front[0].cost.peak < front[1].cost.peak && front[1].cost.peak < front[2].cost.peak));
  front[0].proof.lower_bound_time += front[0].proof.lower_bound_time / 10;
  for (auto& plan : front) {  // not what the line shows
    plan.proof.class_bound_time = plan.cost.makespan;
    plan.proof.of = chain_class::persistent;
  }
  for (std::int64_t const beside : {std::int64_t{0}, work.x[0]}) {
    auto const svg = chain_pareto_svg(front, "", beside);
    double const bottom = std::stod(between(svg, "viewBox=\"0 0 800 ", "\"")) - 50,
                 most = double(front[0].cost.makespan), most_bytes = double(front.back().cost.peak + beside);
    auto const dots = path_of(svg, "save");
    CHECK(std::size_t(std::count(dots.begin(), dots.end(), 'M')) == front.size());
    auto const line = corners_of(path_of(svg, "held")), bound = corners_of(path_of(svg, "peak"));
    for (auto const& plan : front) {
      double const x = 80 + 690 * double(plan.cost.peak + beside) / most_bytes;
      if (&plan != &front.back())
        CHECK(near(height_at(line, x + 0.02), bottom - 320 * double(plan.cost.makespan) / most));
      if (&plan == &front[0]) CHECK(near(bound.front().y, bottom - 320 * double(plan.proof.lower_bound_time) / most));
      else CHECK(near(height_at(bound, x - 0.02), bottom - 320 * double(plan.proof.lower_bound_time) / most));
    }
    CHECK(line.back().x == 770);
    CHECK_THAT(svg, ContainsSubstring("memory (") && ContainsSubstring("makespan"));
  }
  CHECK_THAT(chain_pareto_svg({}), ContainsSubstring("no plan"));
  CHECK_THAT(chain_pareto_svg(front, "A & B"), ContainsSubstring("<title>A &amp; B</title>"));
}

TEST_CASE("tables of plans say memory, time, and how far they are from the best", "[plan][chain]") {
  chain const work{.x = {8, 8, 8, 8}, .s = {20, 20, 20}, .u = {10, 10, 10}, .v = {20, 20, 20, 0}};
  auto slow = planned(work, one_state(3)), fast = planned(work, storing_all(3));
  slow.proof.class_bound_time = 117, slow.proof.of = chain_class::persistent;
  std::vector<chain_plan> const front{slow, fast};
  CHECK(chain_pareto_text(front) == "memory  makespan  of store-all  above bound  planner\n"
                                    "  36 B       120         1.333        2.6 %  persistent\n"
                                    "  68 B        90             1            0  persistent\n");
  CHECK_THAT(chain_pareto_text(front, 8), ContainsSubstring("44 B") && ContainsSubstring("76 B"));
  CHECK(chain_pareto_csv(front) ==
        "peak,budget,makespan,extra_forward,lower_bound_time,bound_time,bound,gap,planner,left_out\n"
        "36,36,120,30,90,117,persistent,0.02564102564102564,persistent,0\n"
        "68,68,90,0,90,90,every_schedule,0,persistent,0\n");
  auto stopped = front;
  stopped[1].left_out = 1;
  CHECK_THAT(chain_pareto_text(stopped),
             EndsWith(" 0  persistent\n1 more budget has no plan here: the limit of work was passed\n"));
  stopped[0].left_out = 2;
  CHECK_THAT(chain_pareto_text(stopped),
             EndsWith(" 0  persistent\n3 more budgets have no plan here: the limit of work was passed\n"));
  CHECK_THAT(chain_pareto_csv(stopped), ContainsSubstring(",persistent,2\n") && EndsWith(",persistent,1\n"));
  CHECK(chain_pareto_text({}) == "memory  makespan  of store-all  above bound  planner\n");
  CHECK(chain_plan_text(slow) ==
        "persistent: 1.333 times the time of storing everything, peak 36 bytes; it takes 2.6 % more than a bound for "
        "every persistent plan");
  CHECK(chain_plan_text(fast) ==
        "persistent: 1 times the time of storing everything, peak 68 bytes; no schedule of any kind is faster");
  CHECK(slow.slowdown() == Approx(4.0 / 3));
  CHECK(slow.store_all_time() == fast.cost.makespan);
  CHECK(fast.slowdown() == 1);
  slow.proof.class_bound_time = 120, slow.proof.of = chain_class::non_persistent;
  CHECK(chain_gap_text(slow) == "no non-persistent plan is faster");
  slow.proof = {};
  CHECK(chain_gap_text(slow) == "nothing is proven of its time");
}

TEST_CASE("figures are said in the words of all texts", "[plan][text]") {
  CHECK(cairn::percent_text(0.12) == "12 %");
  CHECK(cairn::percent_text(0.004) == "0.4 %");
  CHECK(cairn::percent_text(2.5) == "250 %");
  CHECK(cairn::percent_text(1234567.891) == "123456789 %");
  CHECK(cairn::exact_bytes_text(1) == "1 byte");
  CHECK(cairn::exact_bytes_text(1023) == "1023 bytes");
  CHECK(cairn::exact_bytes_text(2048) == "2048 bytes (2.00 KiB)");
}

TEST_CASE("what makes a budget too small is said in bytes", "[plan][chain]") {
  auto const work = chains::make(chains::kind::uniform, 3, 1);
  chain_infeasibility why{.budget = 10,
                          .least_bytes = 24,
                          .lower_bound = 20,
                          .stage = 2,
                          .is_backward = true,
                          .state = 4,
                          .tape = 10,
                          .adjoint = 4,
                          .work = 2};
  CHECK(chain_infeasibility_text(why, work) ==
        "The budget is 10 bytes, and the least that would do is 24; of all stages the adjoint of stage 2 takes the "
        "most at once, 20: 4 for its state, "
        "10 for its tape, 4 for the adjoint it reads, 2 to work with, and no schedule can do with less than that");
  CHECK_THAT(chain_infeasibility_text(why, work, 4),
             StartsWith("The budget is 14 bytes, and the least that would do is 28, of which state 0 takes 4;"));
  why.is_backward = false, why.adjoint = 0;
  CHECK_THAT(chain_infeasibility_text(why, work),
             ContainsSubstring("of all stages stage 2, recorded, takes") && !ContainsSubstring("adjoint"));
  why.stage = 3, why.tape = 0;
  CHECK_THAT(chain_infeasibility_text(why, work), ContainsSubstring("of all stages the loss takes"));
}
