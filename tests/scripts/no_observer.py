#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sweep without an observer runs as many instructions as one whose hook was cut out of the source, counted by
callgrind.

    no_observer.py COMPILER ROOT

Compiles tests/run/no_observer_cost.cpp at -O2 with ROOT/include and with a copy of it in which the executor tells
nobody anything, runs both one and three times over so that start-up cancels, prints both figures and exits 1 if they
differ, 77 without valgrind.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from callgrind import instructions


def without_hook(text):
    """The executor without what calls observers, or None where it is not found as it used to be."""
    calls = len(re.findall(r"\btell\(moment::\w+\);", text))
    text = re.sub(r"\btell\(moment::\w+\);[ ]*", "", text)
    text, told = re.subn(r"\n( *)auto const tell = .*?\n\1\};(?=\n)", "", text, flags=re.S)
    text, phases = re.subn(r"\n *\[\[maybe_unused\]\] phase const where = .*?;", "", text)
    body = text[text.index("stop_reason execute("):]
    left = re.search(r"\btell\b|\bshow\(|\bevent\b|observer\(|\bobserved\b", body)
    return text if calls >= 5 and told == 1 and phases == 1 and not left else None


def build(compiler, source, include, program, *flags):
    subprocess.run([compiler, "-std=c++20", "-O2", *flags, f"-I{include}", str(source), "-o", str(program)], check=True)


def main(compiler, root):
    if not shutil.which("valgrind"):
        print("cairn: skipped: no valgrind")
        return 77
    source = pathlib.Path(root, "tests", "run", "no_observer_cost.cpp")
    include = pathlib.Path(root, "include")
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        bare = pathlib.Path(folder, "include")
        shutil.copytree(include, bare)
        executor = bare / "cairn" / "run" / "detail" / "execute.hpp"
        text = without_hook(executor.read_text())
        if text is None:
            print("run/detail/execute.hpp: the hook is not where this script looks for it; bring the two together")
            return 1
        executor.write_text(text)
        programs = {name: pathlib.Path(folder, name) for name in ("as_it_is", "hook_cut_out", "observed")}
        build(compiler, source, include, programs["as_it_is"])
        build(compiler, source, bare, programs["hook_cut_out"])
        build(compiler, source, include, programs["observed"], "-DOBSERVED")
        for kind in ("gradient", "run"):
            found = {name: instructions(program, kind) for name, program in programs.items()}
            print(f"{kind} of 300 steps: "
                  + ", ".join(f"{name} {count:,.1f} instructions" for name, (count, _) in found.items()))
            if len({tuple(answers) for _, answers in found.values()}) != 1:
                print(f"{kind}: the programs do not compute the same")
                bad = 1
            if found["as_it_is"][0] != found["hook_cut_out"][0]:
                print(f"{kind}: the hook costs instructions although nobody observes")
                bad = 1
            if found["observed"][0] <= found["as_it_is"][0]:
                print(f"{kind}: an observer costs nothing, so this check measures nothing")
                bad = 1
    return bad


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
