#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a collective adds to a sweep of heat on 4 ranks: messages, instructions and time.

    cost.py [--most-percent P] PROGRAM LAUNCHER...    PROGRAM: heat_cost.cpp; LAUNCHER: mpirun and its options

Messages are those of rank 0 on 4 ranks. Instructions are counted by valgrind on one rank, where no rank waits for
another: two runs of different lengths, so that what MPI does to begin and end is left out. Time is the median of some
sweeps. With --most-percent no time is taken, and the script ends with 1 if one of the others grows by more than that.
"""
import re
import shutil
import subprocess
import sys
import tempfile

arguments = sys.argv[1:]
most = None
if arguments[0] == "--most-percent":
    most = float(arguments[1])
    arguments = arguments[2:]
program, *launcher = arguments
TOGETHER = {False: [], True: ["--collective"]}


def run(command):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}")
    return done.stdout


def told(together, rounds=1):
    said = run(launcher + ["-n", "4", program, "--rounds", str(rounds), *TOGETHER[together]])
    found = re.search(r"messages (\d+) seconds ([\d.]+) gradient (\S+)", said)
    return int(found[1]), float(found[2]), found[3]


def instructions(together, rounds):
    """Of a single rank, with the rows that a rank has among four."""
    with tempfile.TemporaryDirectory() as scratch:
        said = run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/out", program, "--rounds", str(rounds),
                    *TOGETHER[together], "32", "128", "200", "10"])
    return int(re.search(r"Collected : (\d+)", said)[1])


def row(what, without, with_it):
    percent = 100 * (with_it - without) / without
    print(f"| {what} | {without:,} | {with_it:,} | {percent:+.3f} % |")
    return most is None or percent <= most


within = True
(messages, _, plain), (more, _, same) = told(False), told(True)
if plain != same:
    sys.exit(f"the gradients differ: {plain} and {same}")
print("| heat, 128 x 128 by rows, 200 steps, revolve with 10 slots | without | with a collective | |\n|---|---|---|---|")
within &= row("messages of rank 0 in a sweep, 4 ranks", messages, more)
if shutil.which("valgrind"):
    spent = {together: instructions(together, 3) - instructions(together, 1) for together in TOGETHER}
    within &= row("instructions of two sweeps, 1 rank", spent[False], spent[True])
else:
    print("no valgrind (Debian: valgrind): instructions are not counted")
if most is None:  # more ranks than cores take their time
    seconds = {together: told(together, 9)[1] for together in TOGETHER}
    print(f"| seconds of a sweep, median of 9, 4 ranks | {seconds[False]:.4f} | {seconds[True]:.4f} | |")
sys.exit(not within)
