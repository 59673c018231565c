// Pictures of a schedule: who is advanced, saved, loaded and reversed when, and how many states that takes.
//
//     draw_schedule                                       prints them
//     draw_schedule DIRECTORY                             writes space_time.svg and memory.svg there
//     draw_schedule DIRECTORY STEPS SLOTS [BYTES [TITLE]] the same for another loop, whose states have so many bytes

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

void write(std::string const& path, std::string const& text) {
  std::ofstream file{path, std::ios::binary};
  if (!(file << text << std::flush)) throw std::runtime_error{path + " cannot be written"};
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
    return 0;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "draw_schedule: %s\n", problem.what());
    return 1;
  }
}
