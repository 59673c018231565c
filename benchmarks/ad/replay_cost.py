#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to compare replays of a tool's recording with plain steps: Burgers on 100 cells, by ADOL-C or CppAD,
with include/ and with a copy of it in which the comparison is left out, in turns.

    benchmarks/ad/replay_cost.py [--cppad PREFIX] [--compiler g++] [--pairs 21] [--steps 10000]

Prints the median, least and largest ratio of user times, and that of instructions if valgrind is there.
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(here.parent.parent / "tests/scripts"))
from running import instructions  # noqa: E402


def without_comparison(text):
    """The tape of a leaf without what is noted for the comparison, and with replays that are right; both must be found
    as they used to be."""
    noting = r"\n    if constexpr \(can_replay<State>\)\n      if \(gradient != nullptr\) \{\n.*?\n      \}\n"
    text, noted = re.subn(noting, "\n", text, flags=re.S)
    text, asked = re.subn(r"r\.gap = gap_of_replay\(.*?\);", "r.gap = 0;", text)
    if (noted, asked) != (1, 1):
        sys.exit("leaf_tape.hpp: the comparison is not where this script looks for it; bring the two together")
    return text


def user_seconds(program, arguments):
    child = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL)
    _, status, use = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{program}: failed")
    return use.ru_utime


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cppad", help="where CppAD is, such as .../site-packages/cmeel.prefix; otherwise ADOL-C")
    options.add_argument("--compiler", default="g++")
    options.add_argument("--pairs", type=int, default=21)
    options.add_argument("--steps", type=int, default=10000)
    given = options.parse_args()
    tool, flags = "ADOL-C", ["-ladolc"]
    if given.cppad:
        tool, flags = "CppAD", ["-DCPPAD", "-isystem", f"{given.cppad}/include", f"-L{given.cppad}/lib",
                                f"-Wl,-rpath,{given.cppad}/lib", "-lcppad_lib"]
    with tempfile.TemporaryDirectory() as folder:
        include, bare = here.parent.parent / "include", pathlib.Path(folder, "include")
        shutil.copytree(include, bare)
        tape = bare / "cairn/adapt/ad/detail/leaf_tape.hpp"
        tape.write_text(without_comparison(tape.read_text()))
        compared, believed = (pathlib.Path(folder, name) for name in ("compared", "believed"))
        for program, headers in ((compared, include), (believed, bare)):
            subprocess.run([given.compiler, "-std=c++20", "-O2", '-DCAIRN_BENCHMARK_FLAGS="-O2"', f"-I{headers}",
                            here / "replays.cpp", "-o", program, *flags], check=True)
        for leaf in (1, 20):
            arguments = [str(given.steps), str(leaf), "22", "2"]
            pairs = []
            for k in range(given.pairs):
                order = (compared, believed) if k % 2 else (believed, compared)
                times = {program: user_seconds(program, arguments) for program in order}
                pairs.append(times[compared] / times[believed])
            print(f"{tool}, leaves of {leaf:2}: comparing replays: {statistics.median(pairs):.3f} of user time "
                  f"(median of {len(pairs)} pairs, {min(pairs):.3f} to {max(pairs):.3f})", flush=True)
        if shutil.which("valgrind"):
            (with_it, _), (without, _) = (instructions(program, "500", "1", "10", folder=folder)
                                          for program in (compared, believed))
            ratio = with_it / without
            print(f"{tool}, leaves of  1: {ratio:.4f} of the instructions")


if __name__ == "__main__":
    main()
