#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`./run versus` on a small loop: its figures are those of the runs, and wrong gradients are told.

    versus_smoke.py PROGRAMS ROOT    PROGRAMS holds those of cairn, ADOL-C and PETSc that could be built
"""
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

# Stands in for a program: its gradient is that of storing every state, by REAL, or one that is spoilt; its figures are
# known.
STAND_IN = '''#!{python}
import array, json, math, subprocess, sys
method, file, case = sys.argv[1:]
real = "store_all" if {foreign} else method
told = subprocess.run([{real!r}, real, file, case], input="", capture_output=True, text=True, check=True).stdout
numbers = array.array("d")
numbers.frombytes(open(file, "rb").read())
if method != "store_all":
    numbers[7] = {spoilt}
open(file, "wb").write(numbers.tobytes())
print(json.dumps({{"rss_bytes": 1234567890, "peak_rss_bytes": 2345678901, "bytes": 45678901, "bytes_are": "stand-in",
                  "version": "stand-in 1.2"}}), flush=True)
for line in sys.stdin:
    print(0.5 * int(line), 0.75 * int(line), flush=True)
'''


def run(root, programs, scratch, expected, *words):
    out = scratch / "versus.json"
    out.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, root / "benchmarks/versus/versus.py", "--programs", programs, "--smoke",
                           "--out", out, *words], capture_output=True, text=True)
    printed = done.stdout + done.stderr
    assert done.returncode == expected, f"ended with {done.returncode}, not {expected}:\n{printed}"
    return json.loads(out.read_text()) if out.exists() else None, printed


def check_figures(data, printed):
    """The table has the figures of the rows, and these those of their samples."""
    table = [line.split() for line in printed.splitlines()]
    cairn = {row["checkpoints"]: row for row in data["rows"] if row["tool"] == "cairn"}
    assert set(cairn) == {None, 16, 12}, cairn.keys()
    for row in data["rows"]:
        assert row["difference"] <= 1e-10 and len(row["seconds"]) == len(row["user_seconds"]) == data["rounds"], row
        assert min(row["seconds"]) > 0 and row["peak_rss_bytes"] >= row["rss_bytes"] >= 0, row
        ratios = [a / b for a, b in zip(row["seconds"], cairn[row["checkpoints"]]["seconds"])]
        assert row["to_cairn"] == statistics.median(ratios), row
        begin = [*row["tool"].split(), "all" if row["checkpoints"] is None else str(row["checkpoints"])]
        wanted = [statistics.median(row["seconds"]), statistics.median(row["user_seconds"]), row["to_cairn"]]
        shown = [words[len(begin):len(begin) + 3] for words in table if words[:len(begin)] == begin]
        assert any(all(math.isclose(float(a), b, rel_tol=0.006, abs_tol=0.006 * (k == 2))
                       for k, (a, b) in enumerate(zip(line, wanted))) for line in shown), f"{shown}, not {wanted}"
    for checkpoints in (16, 12):
        assert cairn[checkpoints]["same_bits"] and cairn[checkpoints]["bytes"] < cairn[None]["bytes"] / 2, cairn


def main():
    programs, root = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    real = next(iter(sorted(programs.glob("peers_fisher_peer_*"))))
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        tools = ["hand", "PETSc", "ADOL-C"]
        data, printed = run(root, programs, scratch, 0, "--only", *tools)
        check_figures(data, printed)
        for name, file in (("cairn over PETSc", "peers_petsc_peer_*"), ("ADOL-C's checkpointing", "ad_adolc_peer_*")):
            found = any(row["tool"] == name for row in data["rows"])
            assert found == bool(list(programs.glob(file))), f"{name}: {found}"
            assert found or f"left out: {name}: not installed (Debian: " in printed, printed
        assert "left out: pyrevolve over numpy: not installed (PyPI: numpy, pyrevolve)" in printed, printed

        folder = scratch / "stand_ins"
        folder.mkdir()
        (folder / real.name).symlink_to(real)

        def stand_in(name, spoilt, foreign=True):
            text = STAND_IN.format(python=sys.executable, real=str(real), spoilt=spoilt, foreign=foreign)
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        stand_in("ad_adolc_peer_x", "numbers[7]")
        data, printed = run(root, folder, scratch, 0, "--only", "ADOL-C's checkpointing")
        check_figures(data, printed)
        row = next(row for row in data["rows"] if row["version"] == "stand-in 1.2")
        assert (row["seconds"], row["user_seconds"], row["difference"]) == ([0.75], [0.5], 0), row
        line = next(line for line in printed.splitlines() if "stand-in 1.2" in line).split()
        assert line[2:5] == ["16", "0.750", "0.500"] and line[6:10] == ["1234.6", "2345.7", "45.7", "stand-in"], line
        for spoilt in ("numbers[7] * (1 + 1e-6)", "math.nan"):
            stand_in("ad_adolc_peer_x", spoilt)
            _, printed = run(root, folder, scratch, 1, "--only", "ADOL-C's checkpointing")
            assert "ADOL-C's checkpointing, own:16: the gradient differs by" in printed, printed
        stand_in("peers_fisher_peer_z", "math.nextafter(numbers[7], math.inf)", foreign=False)
        _, printed = run(root, folder, scratch, 1, "--only", "cairn")
        assert "cairn, revolve:12: other bits than with every state stored" in printed, printed
        _, printed = run(root, folder, scratch, 1, "--write")
        assert "--write takes all tools at full size" in printed, printed
    print(f"{len(data['rows'])} rows")


main()
