#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles every ```cpp fence of a Markdown file, and runs those with a main().

    snippets.py COMPILER FILE [--together] [--compiled LIBRARY] [--only PARTY] [FLAG...]

A fence is a translation unit. A ```text output fence that follows is what the program prints, to the letter. A fence
that needs ADOL-C, Eigen, LibTorch, MPI, Thrust or CUDA is passed over where there is none (no flag names it).

--only passes over the fences that do not need this party, for pages whose other programs another test runs.

--compiled names cairn's planners, compiled. g++ takes most of a program's time for their machine code: a program is only
checked as it stands, and made with CAIRN_SEPARATE_COMPILATION and LIBRARY. One that cannot be made so is made as it
stands.

--together compiles the programs that include the same headers of cairn as one, each in a namespace, because what they
instantiate alike costs g++ most. Each still runs in a process of its own. One that does not do there what it should
is compiled alone, and that decides.
"""
import os
import pathlib
import re
import sys
import tempfile

from running import told

# Third party: what code that needs it says, and what a flag says where it is there.
SIGNS = {"ADOLC": ("adolc", "adolc"), "Eigen": ("igen", "eigen"), "Torch": ("torch", "torch"),
         "CUDA": ("cuda_runtime", "cuda"), "MPI": ("MPI_", "SKIP_MPICXX"), "Thrust": ("thrust", "THRUST_DEVICE_SYSTEM")}
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```[ \t]*$", re.M | re.S)
MAIN = re.compile(r"^int main\(\) \{(.*)\}\s*\Z", re.M | re.S)
INCLUDE = re.compile(r"^#include .*\n", re.M)


def compiled(compiler, flags, code, scratch, how):
    source = os.path.join(scratch, "snippet.cpp")
    pathlib.Path(source).write_text(code)
    libraries = [flag for flag in flags if flag.startswith("-l")]  # behind the source that needs them
    others = [flag for flag in flags if flag not in libraries]
    return told(compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", *others, source, *how, *libraries)


def build_and_run(compiler, flags, code, scratch, library):
    program = os.path.join(scratch, "snippet")
    runs = re.search(r"\bint\s+main\s*\(", code)
    if library or not runs:
        status, said = compiled(compiler, flags, code, scratch, ["-fsyntax-only"])
        if status != 0 or not runs:
            return status, said
        separate = [*flags, "-DCAIRN_SEPARATE_COMPILATION"]
        if compiled(compiler, separate, code, scratch, [library, "-o", program])[0] == 0:
            return told(program, cwd=scratch)
    status, said = compiled(compiler, flags, code, scratch, ["-o", program])
    return told(program, cwd=scratch) if status == 0 else (status, said)


def alike(codes):
    """The numbers of the programs that can stand in a namespace, in groups that include the same headers of cairn."""
    groups = {}
    for number, code in codes.items():
        if len(MAIN.findall(code)) == 1 and not re.search(r"^(#(?!include)|namespace cairn|template <>)", code, re.M):
            headers = frozenset(re.findall(r"^#include <cairn/.*", code, re.M))
            groups.setdefault(headers, []).append(number)
    return [numbers for numbers in groups.values() if len(numbers) > 1]


def united(codes):
    """One program, whose argument is the number of the one to run. A main() is the last of its file; it may end without
    a return, other functions may not."""
    included = dict.fromkeys(line for code in codes.values() for line in INCLUDE.findall(code))
    text = "".join(included) + "#include <cstdlib>\n"
    for number, code in codes.items():
        body = MAIN.sub(lambda main: f"int run() {{{main[1]}return 0; }}", INCLUDE.sub("", code))
        text += f"namespace snippet_{number} {{\n{body}}}\n"
    text += "int main(int, char** words) {\n  switch (std::atoi(words[1])) {\n"
    text += "".join(f"    case {number}: return snippet_{number}::run();\n" for number in codes)
    return text + "  }\n  return 1;\n}\n"


def answers_together(compiler, flags, codes):
    """For each program that compiles with others: its exit status and what it prints."""
    answers = {}
    for numbers in alike(codes):
        with tempfile.TemporaryDirectory() as scratch:
            program = os.path.join(scratch, "snippet")
            together = united({number: codes[number] for number in numbers})
            if compiled(compiler, flags, together, scratch, ["-o", program])[0] == 0:
                answers.update((number, told(program, number, cwd=scratch)) for number in numbers)
    return answers


def main():
    compiler, file, *flags = sys.argv[1:]
    together, library, only = False, "", ""
    while flags[:1] and flags[0] in ("--together", "--compiled", "--only"):
        word = flags.pop(0)
        together = together or word == "--together"
        library = flags.pop(0) if word == "--compiled" else library
        only = SIGNS[flags.pop(0)][0] if word == "--only" else only
    text = pathlib.Path(file).read_text()
    fences = list(FENCE.finditer(text))
    lacks = {at: next((party for party, (sign, found) in SIGNS.items() if sign in fence[3]
                       and not any(found in flag for flag in flags)), "")
             for at, fence in enumerate(fences) if fence[1] == "cpp" and only in fence[3]}
    codes = {at: fences[at][3] for at, party in lacks.items() if not party}
    answers = answers_together(compiler, flags, codes) if together else {}
    checked, wrong = 0, 0
    for at, lacking in lacks.items():
        code = fences[at][3]
        where = f"{file}:{text.count(chr(10), 0, fences[at].start()) + 1}"
        if lacking:
            print(f"{where}: passed over, no {lacking}")
            continue
        after = fences[at + 1].groups() if at + 1 < len(fences) else ("", "", "")
        wanted = after[2] if after[0] == "text" and "output" in after[1] else None
        status, printed = answers.get(at, (1, ""))
        if status != 0 or wanted not in (None, printed):
            with tempfile.TemporaryDirectory() as scratch:
                status, printed = build_and_run(compiler, flags, code, scratch, library)
        checked += 1
        if status != 0:
            wrong += 1
            print(f"{where}: failed ({status})\n{printed}")
        elif wanted not in (None, printed):
            wrong += 1
            print(f"{where}: prints\n{printed}but the text says\n{after[2]}")
    print(f"{checked} snippets of {file}, {wrong} wrong")
    return bool(wrong)


sys.exit(main())
