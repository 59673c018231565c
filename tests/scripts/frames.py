#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Frames of the library in a backtrace within a user's step and adjoint: no more than tests/run/frames.cpp allows.

    frames.py COMPILER ROOT [disk]    with `disk` also those of a run on disk, whose libraries must be there
"""
import pathlib
import sys
import tempfile

from running import told

compiler, root, *parts = sys.argv[1], pathlib.Path(sys.argv[2]), *sys.argv[3:]
disk = ["-DDISK", "-lxxhash", "-lzstd", "-ldl", "-pthread"] if parts else []
with tempfile.TemporaryDirectory() as folder:
    program = pathlib.Path(folder, "frames")
    status, said = told(compiler, "-std=c++20", "-O0", "-rdynamic", f"-I{root / 'include'}", root / "tests/run/frames.cpp",
                        "-o", program, *disk)
    if status == 0:
        status, said = told(program, folder)
print(said)
sys.exit(status)
