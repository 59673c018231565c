#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regions and traced functions cost no instruction where a program has no trace, counted by callgrind.

    no_trace.py COMPILER ROOT

Compiles tests/trace/no_trace_cost.cpp at -O2 four times: without any trace, over `no_trace`, with regions that are not
enabled, and with a trace. The first three must run the same number of instructions, the last must run more. Exits 1
otherwise, 77 without valgrind.
"""
import pathlib
import subprocess
import sys
import tempfile

from running import instructions, needed

compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
needed("valgrind", package="valgrind")
found = {}
with tempfile.TemporaryDirectory() as folder:
    for number, name in enumerate(("without a trace", "over no_trace", "with regions that are not enabled", "traced")):
        program = pathlib.Path(folder, f"program{number}")
        subprocess.run([compiler, "-std=c++20", "-O2", f"-DTRACED={number}", f"-I{root / 'include'}",
                        root / "tests/trace/no_trace_cost.cpp", "-o", program], check=True)
        found[name] = instructions(program, folder=folder)
        print(f"{name}: {found[name][0]:,.1f} instructions a sweep of 300 steps")
plain, *others, traced = (count for count, _ in found.values())
same_answers = len({tuple(answers) for _, answers in found.values()}) == 1
holds = same_answers and all(count == plain for count in others) and traced > plain
print("as it should be" if holds else "wrong: other counts, or other answers")
sys.exit(not holds)
