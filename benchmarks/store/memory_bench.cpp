// SPDX-License-Identifier: Apache-2.0
// The store in memory: a loop whose step and adjoint do nothing, so that what is left is saves, loads and the walk.
#include <vector>
#include "../suite.hpp"

namespace {

using cairn::step_index;

template <class Plan>
void add(std::string const& name, Plan const& plan) {
  for (std::size_t const size : {std::size_t{64}, std::size_t{4096}, std::size_t{65536}})
    suite::add("memory/" + name + ",bytes:" + std::to_string(size), [plan, size](benchmark::State& run) {
      using bytes = std::vector<unsigned char>;
      suite::gradient(run, plan, bytes(size), [](bytes&, step_index) {}, [](bytes const&, bytes&, step_index) {});
    })->Unit(benchmark::kMicrosecond);
}

}  // namespace

int main(int argc, char** argv) {
  add("uniform:1000", cairn::uniform{1000});
  add("revolve:1000,slots:10", cairn::revolve{1000, 10});
  return suite::run(argc, argv);
}
