#include "answer.hpp"

#include <cstdio>
#include <string_view>
#include <utility>

#include <cairn/core/bytes.hpp>

#include "numbers.hpp"

namespace tool {
namespace {

using cairn::wide;

class members {
 public:
  void add(std::string_view name, std::string const& json) {
    if (!text_.empty()) text_ += ',';
    text_.append(1, '"').append(name).append("\":").append(json);
  }
  void add(std::string_view name, wide number) { add(name, json_number(number)); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string json_members(planned const& found) {
  auto const& counts = found.counts;
  members all;
  all.add("schedule", '"' + std::string{name_of(found.asked.schedule)} + '"');
  all.add("steps", wide(found.plan.steps()));
  all.add("slots", wide(found.slots));
  all.add("advances", counts.advances);
  all.add("reversals", counts.reversals);
  all.add("step_calls", found.step_calls());
  all.add("forward_steps", counts.advances + counts.recorded + counts.reversals - counts.taped);
  all.add("saves", counts.saves);
  all.add("loads", counts.loads);
  all.add("peak_slots", wide(counts.peak_slots));
  all.add("blocks", found.blocks ? json_number(wide(*found.blocks)) : "null");
  all.add("repetition_number", wide(found.repetition_number));
  all.add("first_split", wide(found.first_split));
  all.add("forward_evaluations_per_step", json_number(found.per_step()));
  all.add("counted", std::string{found.walked ? "\"walk\"" : "\"closed_form\""});
  if (found.asked.block) all.add("block", wide(*found.asked.block));
  if (found.cost) {
    all.add("peak_states", wide(found.cost->peak_states));
    all.add("stored_bytes", found.cost->stored_bytes);
    all.add("peak_bytes", found.cost->peak_bytes);
    all.add("peak_is_exact", std::string{found.cost->peak_is_exact ? "true" : "false"});
  }
  return all.take();
}

std::string table(planned const& found) {
  auto const& counts = found.counts;
  std::string text = std::string{name_of(found.asked.schedule)} + ", " + grouped(wide(found.plan.steps())) + " steps, " +
                     grouped(wide(found.slots)) + " slots\n";
  auto const line = [&](char const* name, std::string const& value, char const* note = "") {
    char row[200];
    std::snprintf(row, sizeof row, "  %-20s %26s  %s", name, value.c_str(), note);
    text.append(row);
    text.erase(text.find_last_not_of(' ') + 1) += '\n';
  };
  line("step calls", grouped(found.step_calls()));
  line("per step", fixed(found.per_step()), "1 for store_all");
  line("advances", grouped(counts.advances), "steps run unrecorded");
  line("reversals", grouped(counts.reversals));
  line("repetition number", grouped(wide(found.repetition_number)), "the most often that a step is run unrecorded");
  line("saves", grouped(counts.saves));
  line("loads", grouped(counts.loads));
  line("most states kept", grouped(wide(counts.peak_slots)));
  if (found.blocks) line("blocks", grouped(wide(*found.blocks)));
  line("first split", grouped(wide(found.first_split)), "the state where the first advance ends");
  if (found.cost) {
    auto const& cost = *found.cost;
    line("states at once", grouped(wide(cost.peak_states)), "those at work included");
    line("checkpoints", grouped(cost.stored_bytes) + " B", cairn::to_short_text(cost.stored_bytes).c_str());
    line(cost.peak_is_exact ? "peak memory" : "peak memory, at most", grouped(cost.peak_bytes) + " B",
         cairn::to_short_text(cost.peak_bytes).c_str());
  }
  line("counted", found.walked ? "by a walk" : "in closed form");
  return text;
}

}  // namespace tool
