#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions an action, counted by callgrind: of every cursor, and of the executor with its cursor on a scalar loop.
And what a replay check adds to the instructions of a gradient, on the demo's LSTM.

    benchmarks/instructions.py [--compiler g++] [--cursors revolve uniform ...] [--executors revolve ...]
                               [--replay off checkpoints ...]
                               [--largest 100000] [--eigen /usr/include/eigen3]
    benchmarks/instructions.py --most-replay 5 [--compiler g++] [--eigen /usr/include/eigen3]

The second form is a test: it fails where `checkpoints` adds more than so many per cent, at -O2, on few steps; 77
without valgrind. Each cell is the difference between three sweeps and one over the difference in actions, so that
start-up cancels. A machine's speed does not matter; compiler and flags do.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent


def build(compiler, flags, source, program):
    includes = [f"-I{here.parent / folder}" for folder in ("include", "examples")]
    subprocess.run([compiler, "-std=c++20", *flags, *includes, str(here / source), "-o", str(program)], check=True)


def measured(program, schedule, steps, slots, times):
    """(instructions, number that the program prints) of one run."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", str(program), schedule,
                   str(steps), str(slots), str(times)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1)), int(done.stdout.split()[0])


def per_action(program, schedule, steps, slots):
    few, few_actions = measured(program, schedule, steps, slots, 1)
    many, many_actions = measured(program, schedule, steps, slots, 3)
    # A cursor's program prints the actions of all its walks, an executor's those of one sweep.
    actions = many_actions - few_actions if many_actions > few_actions else 2 * few_actions
    return (many - few) / actions


def replay(given, folder):
    """What each mode of the replay check adds to a gradient without options, in per cent of its instructions."""
    for flags in (["-O2"], ["-O3"]):
        program = pathlib.Path(folder) / ("replay" + flags[0])
        build(given.compiler, [*flags, "-isystem", given.eigen], "run/replay_count.cpp", program)
        print(f"replay check, the demo's LSTM, {given.compiler} {' '.join(flags)}: per cent of the instructions of a "
              f"gradient")
        print(f"{'steps':>9} {'slots':>6} " + " ".join(f"{mode:>13}" for mode in given.replay))
        for steps, slots in ((100, 3), (100, 10), (100, 100)):
            plain = per_action(program, "none", steps, slots)
            print(f"{steps:>9} {slots:>6} "
                  + " ".join(f"{100 * (per_action(program, mode, steps, slots) / plain - 1):13.2f}"
                             for mode in given.replay), flush=True)


def most_replay(given, folder):
    """Whether `checkpoints` adds no more than is said to a gradient of 12 steps with 2 slots, where more is run again
    than in longer loops."""
    if not shutil.which("valgrind"):
        print("cairn: skipped: no valgrind (Debian: valgrind)")
        return 77
    program = pathlib.Path(folder) / "replay"
    build(given.compiler, ["-O2", "-isystem", given.eigen], "run/replay_count.cpp", program)
    plain, checked = (per_action(program, mode, 12, 2) for mode in ("none", "checkpoints"))
    added = 100 * (checked / plain - 1)
    print(f"a replay check adds {added:.2f} % of the instructions of a gradient; {given.most_replay:g} % are allowed")
    return int(not 0 < added <= given.most_replay)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--compiler", default="g++")
    options.add_argument("--cursors", nargs="*",
                         default=["revolve", "revolve_free", "uniform", "uniform_block", "store_all", "leaves",
                                  "action_list", "remaining", "any_revolve", "any_uniform"])
    options.add_argument("--executors", nargs="*",
                         default=["revolve", "uniform", "store_all", "any_revolve", "any_uniform"])
    options.add_argument("--replay", nargs="*", default=["off", "checkpoints", "every_step"])
    options.add_argument("--largest", type=int, default=100000)
    options.add_argument("--eigen", default="/usr/include/eigen3", help="where its headers are")
    options.add_argument("--most-replay", type=float, help="what a replay check may add, in per cent")
    given = options.parse_args()
    if given.most_replay is not None:
        with tempfile.TemporaryDirectory() as folder:
            return most_replay(given, folder)
    sizes = [(n, s) for n in (1000, 10000, 100000, 1000000) if n <= given.largest for s in (10, 100, 1000) if s < n]
    tables = [("cursor", "schedule/cursor_count.cpp", given.cursors),
              ("executor and cursor", "run/executor_count.cpp", given.executors)]
    with tempfile.TemporaryDirectory() as folder:
        for what, source, schedules in tables:
            if not schedules:
                continue
            for flags in (["-O2"], ["-O3"]):
                program = pathlib.Path(folder) / ("count" + flags[0])
                build(given.compiler, flags, source, program)
                print(f"{what}, {given.compiler} {' '.join(flags)}: instructions an action")
                print(f"{'steps':>9} {'slots':>6} " + " ".join(f"{name:>13}" for name in schedules))
                for steps, slots in sizes:
                    cells = " ".join(f"{per_action(program, name, steps, slots):13.1f}" for name in schedules)
                    print(f"{steps:>9} {slots:>6} {cells}", flush=True)
        if given.replay:
            replay(given, folder)


if __name__ == "__main__":
    sys.exit(main())
