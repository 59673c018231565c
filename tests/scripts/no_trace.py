#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regions and traced functions cost no instruction where a program has no trace, counted by callgrind.

    no_trace.py COMPILER ROOT

Compiles tests/trace/no_trace_cost.cpp at -O2 four times: without any trace, over `no_trace`, with regions that are not
enabled, and with a trace. The first three must run the same number of instructions, the last must run more. Exits 1
otherwise, 77 without valgrind.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

from callgrind import instructions


def main(compiler, root):
    if not shutil.which("valgrind"):
        print("cairn: skipped: no valgrind (Debian: valgrind)")
        return 77
    source, include = pathlib.Path(root, "tests", "trace", "no_trace_cost.cpp"), pathlib.Path(root, "include")
    bad, plain = 0, None
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(("without a trace", "over no_trace", "with regions that are not enabled",
                                       "with a trace")):
            program = pathlib.Path(folder, f"program{number}")
            subprocess.run([compiler, "-std=c++20", "-O2", f"-DTRACED={number}", f"-I{include}", str(source), "-o",
                            str(program)], check=True)
            count, answers = instructions(program, folder=folder)
            print(f"{name}: {count:,.1f} instructions a sweep of 300 steps")
            plain = plain or (count, answers)
            if answers != plain[1]:
                bad = 1
                print(f"{name}: another answer")
            if (count > plain[0]) != (number == 3) or (count != plain[0]) != (number == 3):
                bad = 1
                print(f"{name}: {count - plain[0]:+,.1f} instructions")
    return bad


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
