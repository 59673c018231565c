#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults in the hand-off between the threads of a sweep, one at a time; the random settings of
tests/adapt/threads/ahead_test.cpp with ThreadSanitizer must find each, and must pass without one.

    ahead_mutants.py COMPILER ROOT CATCH_FLAG...

Exits 1 if a fault is not found, or not where this script looks for it.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = "cairn/adapt/threads/detail/"
# name: file, what stands there, what the mutant has
MUTANTS = {
    "none": (HERE + "handoff.hpp", "", ""),
    "the count is raised and read relaxed": (
        HERE + "handoff.hpp",
        ["count_.store(count, std::memory_order_seq_cst)", "return count_.load(std::memory_order_acquire)",
         "std::int64_t const count = count_.load(std::memory_order_seq_cst)"],
        ["count_.store(count, std::memory_order_relaxed)", "return count_.load(std::memory_order_relaxed)",
         "std::int64_t const count = count_.load(std::memory_order_relaxed)"]),
    "a frame is given back before its reversal": (
        HERE + "ahead.hpp", "      reverse(e);\n",
        "      ring_.done.raise(k + 1 - ring_.holds_back);\n      reverse(e);\n"),
    "the ring has no reference to a frame that a slot holds": (
        HERE + "ahead.hpp", "    return std::exchange(states.live_, no_frame);\n",
        "    if (pool.shared(states.live_)) pool.release(states.live_);\n"
        "    return std::exchange(states.live_, no_frame);\n"),
    "the state behind the next reversal is given back": (
        HERE + "ahead.hpp", "ring_.done.raise(k + 1 - ring_.holds_back)", "ring_.done.raise(k + 1)"),
    "a state that is to be changed stays in a slot": (HERE + "ahead.hpp", "      pool.own(states.live_);\n", ""),
}

compiler, root, *flags = sys.argv[1:]
root = pathlib.Path(root)
missed = []
with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for name, (file, old, new) in MUTANTS.items():
        include = folder / "include"
        shutil.rmtree(include, ignore_errors=True)
        shutil.copytree(root / "include", include)
        header = include / file
        text = header.read_text()
        for one, other in zip([old] if isinstance(old, str) else old, [new] if isinstance(new, str) else new):
            if one not in text:
                sys.exit(f"{file}: no `{one}`; bring the two together")
            text = text.replace(one, other) if one else text
        header.write_text(text)
        program = folder / "program"
        subprocess.run([compiler, "-std=c++20", "-g1", "-fsanitize=thread", f"-I{include}", f"-I{root / 'tests'}",
                        *flags, root / "tests/adapt/threads/ahead_test.cpp", root / "tests/support/catch_main.cpp", "-o",
                        program, "-pthread"], check=True)
        try:
            found = subprocess.run([program, "~[.]~[long]"], timeout=120, capture_output=True,
                                   env={"TSAN_OPTIONS": "halt_on_error=1"}).returncode != 0
        except subprocess.TimeoutExpired:
            found = True  # frames that never come back
        print(f"{name}: {'found' if found else 'not found'}", flush=True)
        if found != (name != "none"):
            missed.append(name)
sys.exit(bool(missed))
