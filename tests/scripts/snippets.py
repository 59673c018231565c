#!/usr/bin/env python3
"""Compiles every ```cpp fence of a Markdown file, and runs those with a main().

    snippets.py COMPILER FILE [FLAG...]

A fence is a translation unit. A ```text output fence that follows is what the program prints, to the letter. A fence
that needs ADOL-C, Eigen, LibTorch or CUDA is passed over where there is none (no flag names it).
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SIGNS = {"ADOLC": "adolc", "Eigen": "igen", "Torch": "torch", "CUDA": "cuda_runtime"}  # third party: what code that needs it says, beside its name in a flag's path
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```[ \t]*$", re.M | re.S)


def build_and_run(compiler, flags, code, scratch):
    source, program = os.path.join(scratch, "snippet.cpp"), os.path.join(scratch, "snippet")
    pathlib.Path(source).write_text(code)
    how = ["-o", program] if re.search(r"\bint\s+main\s*\(", code) else ["-fsyntax-only"]
    done = subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", *flags, source, *how], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0 and "-o" in how:
        done = subprocess.run([program], text=True, cwd=scratch, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def main():
    compiler, file, *flags = sys.argv[1:]
    text = pathlib.Path(file).read_text()
    fences = list(FENCE.finditer(text))
    checked, wrong = 0, 0
    for at, fence in enumerate(fences):
        language, _, code = fence.groups()
        if language != "cpp":
            continue
        where = f"{file}:{text.count(chr(10), 0, fence.start()) + 1}"
        lacking = [party for party, sign in SIGNS.items() if sign in code and not any(party.lower() in flag.lower() for flag in flags)]
        if lacking:
            print(f"{where}: passed over, no {lacking[0]}")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            status, printed = build_and_run(compiler, flags, code, scratch)
        after = fences[at + 1].groups() if at + 1 < len(fences) else ("", "", "")
        checked += 1
        if status != 0:
            wrong += 1
            print(f"{where}: failed ({status})\n{printed}")
        elif after[0] == "text" and "output" in after[1] and printed != after[2]:
            wrong += 1
            print(f"{where}: prints\n{printed}but the text says\n{after[2]}")
    print(f"{checked} snippets of {file}, {wrong} wrong")
    return bool(wrong)


sys.exit(main())
