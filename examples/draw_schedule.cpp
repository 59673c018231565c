// SPDX-License-Identifier: Apache-2.0
// Pictures of a schedule: who is advanced, saved, loaded and reversed when, and how many states that takes.
//
//     draw_schedule                                       prints them
//     draw_schedule DIRECTORY                             writes space_time.svg, memory.svg and one picture a schedule
//     there draw_schedule DIRECTORY STEPS SLOTS [BYTES [TITLE]] the same for another loop, whose states have so many
//     bytes

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <cairn/cairn.hpp>
#include <cairn/plan/text/memory_curve.hpp>
#include <cairn/plan/text/space_time.hpp>
#include <cairn/planning.hpp>

void write(std::string const& path, std::string const& text) {
  std::ofstream file{path, std::ios::binary};
  if (!(file << text << std::flush)) throw std::runtime_error{path + " cannot be written"};
}

/// Every schedule that there is, over loops short enough to see each action.
void draw_all(std::string const& directory) {
  using namespace cairn;
  constexpr step_index n = 24;
  auto const draw = [&](std::string const& name, auto const& plan, std::string const& title) {
    write(directory + "/schedule_" + name + ".svg", space_time_svg(plan, title));
  };
  draw("uniform", uniform{n}, "uniform{24}: four checkpoints, evenly spaced");
  draw("revolve", revolve{n, 4}, "revolve{24, 4}: the fewest advances for 4 states");
  draw("leaves", leaves{n, 3, revolve{8, 3}}, "leaves{24, 3, revolve{8, 3}}: three steps an adjoint");
  draw("two_level", two_level{n, 6, 2}, "two_level{24, 6, 2}: every 6th state, 2 slots inside");
  draw("online", online{4}.stopping_at(n), "online{4}, stopped after 24 steps");
  draw("multistage", multistage{n, 2, 3}, "multistage{24, 2, 3}: 2 slots in memory, 3 on disk");
  draw("hrevolve", hrevolve{n, {{.slots = 2}, {.slots = 3, .write = 2, .read = 2}}},
       "hrevolve: 2 slots in memory, 3 on disk at 2 steps a transfer");
  draw("disk_revolve", disk_revolve{n, 2, {.disk_write = 2, .disk_read = 2}},
       "disk_revolve{24, 2}: any number on disk at 2 steps a transfer");
  draw("mixed", mixed{n, 6, {.tape_units = 2}}, "mixed{24, 6}: states of 1 unit, tapes of 2");
  draw("bptt", bptt{n, 6, {.tape_units = 2}}, "bptt{24, 6}: hidden states and cells of 2 units");
  draw("runge_kutta", runge_kutta{n, 6, {.stages = 2}}, "runge_kutta{24, 6}: two stages, stiffly accurate");
}

int main(int count, char** words) {
  try {
    cairn::step_index const steps = count > 3 ? std::atoll(words[2]) : 40;
    cairn::slot_index const slots = count > 3 ? std::atoll(words[3]) : 4;
    cairn::revolve const plan{steps, slots};
    cairn::workload work;  // without sizes memory is drawn in states
    if (count > 4) work.state_bytes = work.adjoint_bytes = cairn::byte_size{std::string_view{words[4]}}.count();
    std::string const title = count > 5 ? words[5] : "";
    if (count < 2) {
      std::fputs(cairn::space_time_text(plan).c_str(), stdout);
      std::fputs(cairn::memory_text(plan, work).c_str(), stdout);
      return 0;
    }
    std::string const directory = words[1];
    write(directory + "/space_time.svg", cairn::space_time_svg(plan, title));
    write(directory + "/memory.svg", cairn::memory_svg(plan, work, title));
    if (count == 2) draw_all(directory);
    return 0;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "draw_schedule: %s\n", problem.what());
    return 1;
  }
}
