#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it takes to compile small programs with cairn: user seconds of the compiler at -O2, the fastest of some runs,
with headers that hold all bodies and with headers that only declare them (CAIRN_SEPARATE_COMPILATION). Beside each the
multiple of `#include <vector>`.

    compile_cost.py [--compiler g++] [--include include] [--rounds 5] [--flags=-O2] [NAME...]

Figures, never a test: they are of one machine, and of what else it does.
"""
import argparse
import pathlib
import re
import resource
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOOP = """
  auto const step = [](double& x, cairn::step_index) { x *= 0.999; };
  auto const adjoint = [](double const&, double& bar, cairn::step_index) { bar *= 0.999; };"""
PROGRAMS = {  # name -> source; that of the README is read from it
    "vector": "#include <vector>\nint main() { return int(std::vector<int>(3).size()) - 3; }\n",
    "gradient": f"""#include <cairn/run/gradient.hpp>
#include <cairn/schedule/revolve.hpp>
int main() {{{LOOP}
  return cairn::gradient(step, 1.0, cairn::revolve{{1000, 8}}, 1.0, adjoint) < 1 ? 0 : 1;
}}
""",
    "README": None,
    "check_adjoint": f"""#include <cairn/run/check/check_adjoint.hpp>
int main() {{{LOOP}
  return cairn::check_adjoint(step, adjoint, 1.0, 1000).passed() ? 0 : 1;
}}
""",
    "advise": """#include <cairn/plan/loop/advise.hpp>
int main() {
  return cairn::advise(cairn::byte_size{100'000}, {.steps = 1000, .state_bytes = 800}).best.cost.steps == 1000 ? 0 : 1;
}
""",
    "chain planner": """#include <cairn/plan/chain/chain_planner.hpp>
int main() {
  return cairn::chain_planner{{.x = {8, 8, 8}, .s = {9, 9}, .u = {1, 1}}}.plan(100).cost.makespan == 2 ? 0 : 1;
}
""",
    "graph planner": """#include <cairn/plan/graph/graph_planner.hpp>
int main() { return cairn::graph_planner{cairn::operation_graph{}}.least_budget() > 1 ? 1 : 0; }
""",
    "planning.hpp": "#include <cairn/planning.hpp>\nint main() {}\n",
    "chains.hpp": "#include <cairn/chains.hpp>\nint main() {}\n",
    "the bodies": "#include <cairn/impl/src.hpp>\n",
}
APART = "-DCAIRN_SEPARATE_COMPILATION"


def source_of(name):
    if PROGRAMS[name] is not None:
        return PROGRAMS[name]
    return re.search(r"```cpp\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]


def seconds(compiler, include, flags, source, rounds):
    """User seconds of the compiler and what it starts; the fastest of so many runs."""
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch, "program.cpp")
        file.write_text(source)
        best = float("inf")
        for _ in range(rounds):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            subprocess.run([compiler, "-std=c++20", "-w", *flags, "-I", include, "-c", file, "-o",
                            file.with_suffix(".o")], check=True)
            best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
        return best


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--compiler", default="g++")
    options.add_argument("--include", default=str(ROOT / "include"))
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--flags", default="-O2")
    options.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PROGRAMS))
    given = options.parse_args()
    flags = given.flags.split()
    vector = seconds(given.compiler, given.include, flags, source_of("vector"), given.rounds)
    print(f"user seconds of {given.compiler} {given.flags}, and the multiple of #include <vector>, {vector:.2f} s")
    print(f"{'program':16}{'header-only':>20}{'separate':>20}")
    for name in given.names or [name for name in PROGRAMS if name != "vector"]:
        line = f"{name:16}"
        for more in ([], [APART]):
            if name == "the bodies" and not more:
                line += f"{'':>20}"
                continue
            took = seconds(given.compiler, given.include, flags + more, source_of(name), given.rounds)
            line += f"{took:12.2f} s{took / vector:5.1f}x"
        print(line, flush=True)


main()
