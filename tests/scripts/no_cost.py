#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is not used costs no instruction, counted by callgrind in programs compiled at -O2.

    no_cost.py COMPILER ROOT observer    a sweep without an observer, with ROOT/include and with a copy of it in which
                                         the executor tells nobody anything: no more. With an observer: more
    no_cost.py COMPILER ROOT trace       regions and traced functions without any trace, over `no_trace`, and not
                                         enabled: no more. With a trace: more
    no_cost.py COMPILER ROOT params      a sweep with `wrt`, over one whose step and adjoint capture: at most 1 % more

Exits 1 where that does not hold, or the programs do not compute the same, 77 without valgrind.
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
        sys.exit("run/sweep/detail/execute.hpp: the hook is not where this script looks for it; bring the two together")
    return text


compiler, root, what = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
needed("valgrind", package="valgrind")
wrong = []
with tempfile.TemporaryDirectory() as folder:
    include, bare = root / "include", pathlib.Path(folder, "include")
    if what == "observer":
        shutil.copytree(include, bare)
        executor = bare / "cairn/run/sweep/detail/execute.hpp"
        executor.write_text(without_hook(executor.read_text()))
        source, kinds = "run/no_observer_cost.cpp", (["gradient"], ["run"])
        flags = {"as it is": [include], "hook cut out": [bare], "observed": [include, "-DOBSERVED"]}
    elif what == "params":
        source, kinds = "run/params_cost.cpp", ([],)
        flags = {"captured": [include], "by wrt": [include, "-DBY_WRT"]}
    else:
        source, kinds = "trace/no_trace_cost.cpp", ([],)
        flags = {name: [include, f"-DTRACED={number}"] for number, name in enumerate(
            ("without a trace", "over no_trace", "with regions that are not enabled", "traced"))}
    for name, (headers, *more) in flags.items():
        subprocess.run([compiler, "-std=c++20", "-O2", *more, f"-I{headers}", root / "tests" / source, "-o",
                        pathlib.Path(folder, name)], check=True)
    for kind in kinds:
        found = {name: instructions(pathlib.Path(folder, name), *kind, folder=folder) for name in flags}
        print(*kind, "300 steps:", ", ".join(f"{name} {count:,.1f}" for name, (count, _) in found.items()))
        plain, *others, used = (count for count, _ in found.values())
        if len({tuple(answers) for _, answers in found.values()}) != 1:
            wrong.append("the programs do not compute the same")
        if what == "params":
            if used > 1.01 * plain:
                wrong.append(f"parameters cost {100 * (used / plain - 1):.2f} % more instructions than captures")
        elif any(plain > one if what == "observer" else one > plain for one in others) or used <= plain:
            wrong.append("what is not used costs instructions, or what is used costs none and nothing is measured")
print("\n".join(wrong) or "as it should be")
sys.exit(bool(wrong))
