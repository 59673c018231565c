#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A sweep without an observer runs as many instructions as one whose hook was cut out of the source, counted by
callgrind.

    no_observer.py COMPILER ROOT

Compiles tests/run/no_observer_cost.cpp at -O2 with ROOT/include and with a copy of it in which the executor tells
nobody anything, prints both figures and exits 1 if they differ, 77 without valgrind. With an observer they must be
more.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from running import instructions, needed


def without_hook(text):
    """The executor without what calls observers; it must be found as it used to be."""
    calls = len(re.findall(r"\btell\(moment::\w+\);", text))
    text = re.sub(r"\btell\(moment::\w+\);[ ]*", "", text)
    text, tellers = re.subn(r"\n( *)auto const tell = .*?\n\1\};(?=\n)", "", text, flags=re.S)
    text, phases = re.subn(r"\n *\[\[maybe_unused\]\] phase const where = .*?;", "", text)
    left = re.search(r"\btell\b|\bshow\(|\bevent\b|observer\(|\bobserved\b", text[text.index("stop_reason execute("):])
    if calls < 5 or (tellers, phases, left) != (1, 1, None):
        sys.exit("run/detail/execute.hpp: the hook is not where this script looks for it; bring the two together")
    return text


compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
needed("valgrind", package="valgrind")
wrong = []
with tempfile.TemporaryDirectory() as folder:
    bare = pathlib.Path(folder, "include")
    shutil.copytree(root / "include", bare)
    executor = bare / "cairn" / "run" / "detail" / "execute.hpp"
    executor.write_text(without_hook(executor.read_text()))
    for name, include, *flags in (("as_it_is", root / "include"), ("hook_cut_out", bare),
                                  ("observed", root / "include", "-DOBSERVED")):
        subprocess.run([compiler, "-std=c++20", "-O2", *flags, f"-I{include}", root / "tests/run/no_observer_cost.cpp",
                        "-o", pathlib.Path(folder, name)], check=True)
    for kind in ("gradient", "run"):
        found = {name: instructions(pathlib.Path(folder, name), kind, folder=folder)
                 for name in ("as_it_is", "hook_cut_out", "observed")}
        print(f"{kind} of 300 steps: " + ", ".join(f"{name} {count:,.1f}" for name, (count, _) in found.items()))
        if len({tuple(answers) for _, answers in found.values()}) != 1:
            wrong.append(f"{kind}: the programs do not compute the same")
        if found["as_it_is"][0] != found["hook_cut_out"][0]:
            wrong.append(f"{kind}: the hook costs instructions although nobody observes")
        if found["observed"][0] <= found["as_it_is"][0]:
            wrong.append(f"{kind}: an observer costs nothing, so this check measures nothing")
print("\n".join(wrong))
sys.exit(bool(wrong))
